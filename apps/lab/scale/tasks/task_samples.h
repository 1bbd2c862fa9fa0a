// Writes what a file of samples does not have so far: all samples of a task's problems, with progress on standard error.
//
//   ASSIGN_OR_RETURN(const TaskSamples written, WriteTaskSamples(*engine, task, prompts, model, options, "samples.jsonl"));
//   written.before, written.written, written.tokens;
//
// What a run that ended early has written is in the file, and the next one goes on with it. Threads: one at a time.
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
  int64_t tokens = 0;            // In those that were written.
  StepperReport stepper = {};
};

// options.starts_text is set by the prompts. model: ModelSettings (run_settings.h). kept: told how many this call has written, after each.
// The errors of SampleFile, as those of --into, and of WriteSamples.
absl::StatusOr<TaskSamples> WriteTaskSamples(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                             SampleOptions options, const std::string& path,
                                             const std::function<void(int64_t written)>& kept = nullptr);

}  // namespace tessera
