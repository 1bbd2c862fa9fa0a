// Completes a file of samples of a task's problems, with progress on standard error.
//
//   ASSIGN_OR_RETURN(const TaskSamples written, WriteTaskSamples(*engine, task, prompts, model, options, "samples.jsonl"));
//   written.before, written.written, written.tokens;
//
// A run that ended early leaves samples in the file, and the next run adds the missing samples. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/apps/lab/scale/tasks/task_prompts.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/stepper.h"

namespace tessera {

struct TaskSamples {
  int64_t samples = 0;           // In the file.
  int64_t before = 0, written = 0;
  int64_t tokens = 0;            // In the samples of this call.
  StepperReport stepper = {};
};

// Generates the missing samples. The prompts set options.starts_text. model: ModelSettings (run_settings.h). kept: called after each sample
// with the number of samples of this call. Returns the errors of SampleFile, converted to errors of --into, and of WriteSamples.
absl::StatusOr<TaskSamples> WriteTaskSamples(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                             SampleOptions options, const std::string& path,
                                             const std::function<void(int64_t written)>& kept = nullptr);

}  // namespace tessera
