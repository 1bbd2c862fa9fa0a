// The prompts of a task's problems for a model, and the other settings that samples depend on.
//
//   ASSIGN_OR_RETURN(const TaskPrompts prompts, PromptsOfTask(*engine, task, /*most=*/100));
//   options.starts_text = prompts.form != "raw";
//   SampleFile::Open(path, SampleSettings(task, *engine, ModelSettings(hash), options, prompts.form));
//
// For functions to complete, the prompt is the beginning of the function. Other problems are a message in the model's chat template, unless
// --raw is given. Errors are the errors of the flags of dialogues. Threads: one at a time.
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

// Returns the prompts of at most the first `most` problems of the task. If the model has no template and --raw is not given, problems are
// given unchanged, and a line on standard error says so.
absl::StatusOr<TaskPrompts> PromptsOfTask(const Engine& engine, const Task& task, int most);

// Returns a line with all settings that a sample's text depends on, except the problem's place and the sample's number. A checksum in the
// line identifies the task's problems. model: ModelSettings (run_settings.h).
std::string SampleSettings(const Task& task, const Engine& engine, const std::string& model, const SampleOptions& options,
                           absl::string_view form);

}  // namespace tessera
