// The beam searches of a grid: N rows are N / 4 beams with 4 expansions each, as Snell et al. 2024 have them (fewer than 4 rows: one beam).
//
//   RETURN_IF_ERROR(CheckBeamRows({1, 2, 4, 16}));                    // the others are refused
//   const GridBeams beams = {.scorer = scorer.get(), .spec = "self_certainty", .model = model, .run = {.max_tokens = 512}};
//   ASSIGN_OR_RETURN(const TaskSamples written, beams.Write(*engine, task, prompts, /*rows=*/8, path));
//   ASSIGN_OR_RETURN(const BeamFigures figures, ReadBeams(path, task));
//
// What a search chooses is the text of the largest score among those that it ends with and that have an answer. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/apps/lab/scale/tasks/task_prompts.h"
#include "tessera/apps/lab/scale/tasks/task_samples.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/cpp20.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/beam_run.h"
#include "tessera/runtime/scale/scorer.h"

namespace tessera {

// WrongUsage (counts) for a number above 4 that 4 does not divide.
absl::Status CheckBeamRows(absl::Span<const int> counts);
// REQUIRES: CheckBeamRows was OK; at least 2 rows.
BeamOptions BeamsOfRows(int rows);

struct GridBeams {
  Scorer* scorer = nullptr;
  std::string spec = {};         // Its name, as --scorer has it.
  std::string model = {};        // ModelSettings (run_settings.h).
  BeamRunOptions run = {};       // Shape, stop and starts_text are set by rows, task and prompts.

  absl::StatusOr<TaskSamples> Write(Engine& engine, const Task& task, const TaskPrompts& prompts, int rows, const std::string& path) const;
  // A search for one problem, whose result is not kept; its tokens, those of steps that were dropped too. For times (host_times.h).
  absl::StatusOr<int64_t> WriteAlone(Engine& engine, const Task& task, const TaskPrompts& prompts, const SampleProblem& problem, int rows,
                                     bool warm_up) const;

 private:
  BeamRunOptions RunOf(const Task& task, const TaskPrompts& prompts, int rows) const;
};

// What searches of a task came to.
struct BeamFigures {
  std::vector<double> right = {};                  // By problem: 1 or 0.
  double tokens = 0, passes = 0, rows = 0;         // Means of a search: of all steps; rows with those of the prompt.
};

// For the task's problems in their order. Code is run (CheckCode). InvalidArgument for a file that lacks a problem; the errors of
// ReadCandidates.
absl::StatusOr<BeamFigures> ReadBeams(const std::string& path, const Task& task);

}  // namespace tessera
