// A grid: generates samples of tasks, measures and models the cost, and judges each method of choosing among N samples.
//
//   const GridOptions options = {.folder = "grid", .samples = {.samples = 8}, .questions = 40, .counts = {1, 2, 4, 8},
//                                .methods = {"one", "majority"}};
//   RETURN_IF_ERROR(PlanGrid(options, engine_options));                             // before the engine is made
//   ASSIGN_OR_RETURN(const std::vector<GridResult> results, RunGrid(*engine, tasks, source, options));
//
// All files lie in the folder (grid_folder.h). A stopped grid can be continued: existing samples are not generated again, and existing
// times are not measured again. The results are the same, byte for byte, as without a stop. Times of this machine are in a separate file.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/grid/grid_results.h"
#include "tessera/apps/lab/scale/grid/phone_time.h"
#include "tessera/apps/lab/scale/tasks/model_hash.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/cpp20.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/beam_run.h"

namespace tessera {

struct GridOptions {
  std::string folder = {};
  SampleOptions samples = {};                  // `samples` samples are generated per question; the task sets stop and starts_text.
  int questions = 48;                          // Maximum number of questions: the first of each task.
  std::vector<int> counts = {1};               // Numbers N, ascending.
  std::vector<std::string> methods = {"one"};  // From GridMethodsOf.
  // A scorer's name (grid_methods.h). Beam searches themselves ask a scorer that runs a model (reward:FILE, judge). For samples,
  // tessera_scale score writes such a scorer's scores (grid_scores.h).
  std::string scorer = "mean_log_probability";
  BeamRunOptions beams = {};                   // Steps, for methods with beams. Sampling and maximum tokens come from `samples`.
  int draws = 200;                             // See JudgeOptions.
  uint64_t seed = 0;
  int timed_questions = 4;                     // Number of timed questions, from short to long by the samples' tokens.
  const PhoneTime* phone = nullptr;            // Null: no phone is modeled.
  std::function<void(int64_t written)> kept = nullptr;   // Called after each sample with the number of the task's samples in this call.
};

// The origin of a grid, for the page.
struct GridSource {
  ModelHash model = {};
  std::string command = {};
  std::string score_command = "tessera_scale score";   // With this run's flags for data, model and the form of texts.
};

// Checks the options. WrongUsage (counts) if numbers, samples and methods do not fit each other. WrongUsage (scorer) for a scorer that the
// methods cannot ask. REQUIRES: there are counts and methods.
absl::Status CheckGrid(const GridOptions& options);

// Includes the grid's samples and searches in memory plans. Returns the errors of PlanSamples, PlanBeams and PlanScorer. REQUIRES:
// CheckGrid was OK.
absl::Status PlanGrid(const GridOptions& options, EngineOptions& engine);

// Writes the folder's files, except the page. Results are ordered by task, number of samples and method, in the order of the options.
// Errors: of BeginGrid and of samples, converted to errors of --into; of judging and of a phone. Cancelled if the engine is cancelled.
// REQUIRES: CheckGrid and PlanGrid were OK with these options; no task twice.
absl::StatusOr<std::vector<GridResult>> RunGrid(Engine& engine, const std::vector<Task>& tasks, const GridSource& source,
                                                const GridOptions& options);

}  // namespace tessera
