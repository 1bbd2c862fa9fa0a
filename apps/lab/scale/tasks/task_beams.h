// Writes what a file of samples does not have so far: the texts that a beam search ends with, for each of a task's problems.
//
//   ASSIGN_OR_RETURN(const TaskSamples written, WriteTaskBeams(*engine, task, prompts, model, options, *scorer, "judge", path));
//   written.before, written.written, written.tokens;
//
// Samples 0, 1, ... of a problem are the texts of its search (BeamTexts::texts), each with its score: `judge --scorer=score` chooses by it.
// Sample 0 also has "search_tokens", those of all steps, "search_passes" and "search_rows". Some searches end with fewer than their width.
// A search is whole or not there: sample 0 is added last, so a problem that has it is not written again, and one of which a killed run has
// added some texts gets the others. Threads: one at a time.
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

// The prompts set options.starts_text, the task problem and stop. model: ModelSettings (run_settings.h). scorer_spec: as --scorer names
// it; a file whose steps another one has scored is refused, as are other settings: another head of the same name, too. tokens: of all
// steps, kept or not. Errors: those of SampleFile, as those of --into, of ScorerSettings, and of RunBeams, with the problem; Cancelled once
// the engine is.
absl::StatusOr<TaskSamples> WriteTaskBeams(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                           BeamRunOptions options, Scorer& scorer, const std::string& scorer_spec,
                                           const std::string& path);

}  // namespace tessera
