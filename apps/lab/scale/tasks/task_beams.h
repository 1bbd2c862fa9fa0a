// Completes a file of samples with the final texts of a beam search for each of a task's problems.
//
//   ASSIGN_OR_RETURN(const TaskSamples written, WriteTaskBeams(*engine, task, prompts, model, options, *scorer, "judge", path));
//   written.before, written.written, written.tokens;
//
// Samples 0, 1, ... of a problem are the texts of the problem's search (BeamTexts::texts), each with a score. `judge --scorer=score`
// chooses by that score. Sample 0 also has "search_tokens" (the tokens of all steps), "search_passes" and "search_rows". Some searches end
// with fewer texts than the width. Sample 0 is added last, so a problem with sample 0 is complete and is not searched again. If a killed
// run has added only some texts of a problem, the next run adds the others. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/tasks/task_prompts.h"
#include "tessera/apps/lab/scale/tasks/task_samples.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/beam_run.h"
#include "tessera/runtime/scale/scorer.h"

namespace tessera {

// Runs the missing searches. The prompts set options.starts_text, and the task sets options.problem and options.stop. model: ModelSettings
// (run_settings.h). scorer_spec: the scorer in the form of --scorer. A file with another scorer or other settings is refused, even if the
// other scorer is another head of the same name. TaskSamples::tokens counts all steps, kept or not. Errors: of SampleFile, converted to
// errors of --into; of ScorerSettings; and of RunBeams, with the problem. Cancelled if the engine is cancelled.
absl::StatusOr<TaskSamples> WriteTaskBeams(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                           BeamRunOptions options, Scorer& scorer, const std::string& scorer_spec,
                                           const std::string& path);

}  // namespace tessera
