// The beam searches of a grid: N rows are N / 4 beams with 4 expansions each, like the searches of Snell et al. 2024 (fewer than 4 rows:
// one beam).
//
//   RETURN_IF_ERROR(CheckBeamRows({1, 2, 4, 16}));                    // the others are refused
//   const GridBeams beams = {.scorer = scorer.get(), .spec = "self_certainty", .model = model, .run = {.max_tokens = 512}};
//   ASSIGN_OR_RETURN(const TaskSamples written, beams.Write(*engine, task, prompts, /*rows=*/8, path));
//   ASSIGN_OR_RETURN(const BeamFigures figures, ReadBeams(path, task));
//
// A search chooses the text of the largest score among the final texts that have an answer. Threads: one at a time.
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

// Checks numbers of rows. WrongUsage (counts) for a number above 4 that 4 does not divide.
absl::Status CheckBeamRows(absl::Span<const int> counts);
// Returns the width and the expansions. REQUIRES: CheckBeamRows was OK; at least 2 rows.
BeamOptions BeamsOfRows(int rows);

struct GridBeams {
  Scorer* scorer = nullptr;
  std::string spec = {};         // The scorer's name, in the form of --scorer.
  std::string model = {};        // ModelSettings (run_settings.h).
  BeamRunOptions run = {};       // Rows, task and prompts set the shape, stop and starts_text.

  absl::StatusOr<TaskSamples> Write(Engine& engine, const Task& task, const TaskPrompts& prompts, int rows, const std::string& path) const;
  // Runs a search for one problem, to measure times (host_times.h). The result is not kept. Returns the search's tokens, dropped steps
  // included.
  absl::StatusOr<int64_t> WriteAlone(Engine& engine, const Task& task, const TaskPrompts& prompts, const SampleProblem& problem, int rows,
                                     bool warm_up) const;

 private:
  BeamRunOptions RunOf(const Task& task, const TaskPrompts& prompts, int rows) const;
};

// Results of a task's searches.
struct BeamFigures {
  std::vector<double> right = {};                  // By problem: 1 or 0.
  double tokens = 0, passes = 0, rows = 0;         // Means per search, over all steps; `rows` includes the prompt's rows.
};

// Reads the results for the task's problems, in the task's order. Runs code (CheckCode). InvalidArgument for a file that lacks a problem;
// also the errors of ReadCandidates.
absl::StatusOr<BeamFigures> ReadBeams(const std::string& path, const Task& task);

}  // namespace tessera
