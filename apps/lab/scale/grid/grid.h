// A grid: samples of tasks are written, what they took is measured and modeled, and each way to choose among N of them is judged.
//
//   const GridOptions options = {.folder = "grid", .samples = {.samples = 8}, .questions = 40, .counts = {1, 2, 4, 8},
//                                .methods = {"one", "majority"}};
//   RETURN_IF_ERROR(PlanGrid(options, engine_options));                             // before the engine is made
//   ASSIGN_OR_RETURN(const std::vector<GridResult> results, RunGrid(*engine, tasks, source, options));
//
// All lies in the folder (grid_folder.h). A grid that was stopped goes on where it ended: samples that are there are not written again,
// times that were measured are not measured again, and results are the same, byte for byte, as without a stop. Times of this machine are
// in a file of their own. Threads: one at a time.
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
  SampleOptions samples = {};                  // As many as are written of each question; stop and starts_text are the task's.
  int questions = 48;                          // The first so many of each task.
  std::vector<int> counts = {1};               // Numbers N, ascending.
  std::vector<std::string> methods = {"one"};  // GridMethodsOf.
  // As grid_methods.h has names. One that runs a model (reward:FILE, judge) is asked by beam searches themselves; samples have its scores
  // from tessera_scale score (grid_scores.h).
  std::string scorer = "mean_log_probability";
  BeamRunOptions beams = {};                   // Where methods have them: steps. Sampling and most tokens are those of samples.
  int draws = 200;                             // JudgeOptions.
  uint64_t seed = 0;
  int timed_questions = 4;                     // From short to long, by the tokens of their samples.
  const PhoneTime* phone = nullptr;            // Null: no phone is modeled.
  std::function<void(int64_t written)> kept = nullptr;   // Told after each sample how many of its task this call has written.
};

// What made the grid, for its page.
struct GridSource {
  ModelHash model = {};
  std::string command = {};
  std::string score_command = "tessera_scale score";   // With the flags that data, model and the form of texts have here.
};

// WrongUsage (counts) where numbers, samples and methods do not fit each other, (scorer) for one that methods cannot ask. REQUIRES: there
// are counts and methods.
absl::Status CheckGrid(const GridOptions& options);

// Makes memory plans include what the grid writes at once. The errors of PlanSamples, PlanBeams and PlanScorer. REQUIRES: CheckGrid was OK.
absl::Status PlanGrid(const GridOptions& options, EngineOptions& engine);

// Writes the folder's files, all but the page. Results are by task, number of samples and method, in the order of the options. Errors:
// those of BeginGrid and of samples, as those of --into; of judging and of a phone. Cancelled once the engine is. REQUIRES: CheckGrid and
// PlanGrid were OK with these options; no task twice.
absl::StatusOr<std::vector<GridResult>> RunGrid(Engine& engine, const std::vector<Task>& tasks, const GridSource& source,
                                                const GridOptions& options);

}  // namespace tessera
