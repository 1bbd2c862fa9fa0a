// The problems of a task as a model is given them, and what its samples depend on besides.
//
//   ASSIGN_OR_RETURN(const TaskPrompts prompts, PromptsOfTask(*engine, task, /*most=*/100));
//   options.starts_text = prompts.form != "raw";
//   SampleFile::Open(path, SampleSettings(task, *engine, ModelSettings(hash), options, prompts.form));
//
// Functions that are to be completed are given as they begin; other problems are a message in the model's chat template, unless --raw is
// given. Errors are those of the flags about dialogues. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/cpp20.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct TaskPrompts {
  std::string form = "raw";   // Or the template's name.
  std::vector<SampleProblem> problems = {};
};

// The first problems of the task, at most so many. Says on standard error where a model without a template is given problems as they are.
absl::StatusOr<TaskPrompts> PromptsOfTask(const Engine& engine, const Task& task, int most);

// All that a sample's text depends on, but for its problem's place and its number: one line. The task's problems are in it by a checksum of
// all of them. model: ModelSettings (run_settings.h).
std::string SampleSettings(const Task& task, const Engine& engine, const std::string& model, const SampleOptions& options,
                           absl::string_view form);

}  // namespace tessera
