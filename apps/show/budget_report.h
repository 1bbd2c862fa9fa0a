// What a memory budget buys: how much of the model stays in memory, what each pass reads, and how fast that will be about.
//
//   ASSIGN_OR_RETURN(const BudgetReport report, BudgetReport::Make(*engine));       // probes memory and flash: about a second at most
//   WriteError(report.Line());                                                     // before starting
//   text += report.Table();          // this budget, the least, and two above; of a model that is not packed only the least
//
// The forecast is of passes of one row: the longest of its products as fast as they are in cache, of weights going from memory and
// streamed ones into it, and of reading these from flash (docs/storage.md). That is what a pass cannot be faster than: it knows nothing
// of attention, of waits between these, or of other work on the machine. Thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine.h"

namespace tessera {

class BudgetReport {
 public:
  // What is probed with takes no more memory than is planned for what is not loaded yet. REQUIRES: engine.options().memory_budget > 0, and
  // weights are not loaded. The errors of Engine::PlanBudget.
  static absl::StatusOr<BudgetReport> Make(const Engine& engine);

  std::string Line() const;            // "memory budget 400 MiB: 3 of 51 units pinned, ...\n"
  std::string Table() const;
  double flash_bytes_per_second() const { return flash_bytes_per_second_; }
  void Write(JsonWriter& json) const;  // {"budget", "least", ..., "forecasts": [{"budget", "pinned_bytes", ...}]}

 private:
  struct Forecast {
    BudgetPlan plan;
    double tokens_per_second;   // 0: it cannot be known, since the flash's speed is not.
  };
  double TokensPerSecond(const BudgetPlan& plan) const;

  bool packed_ = false;                           // Others are not streamed.
  int units_ = 0;
  int wanted_logit_rows_ = 0;
  double pass_bytes_ = 0, product_seconds_ = 0;   // Weights of a pass, and what its products take in cache.
  double memory_bytes_per_second_ = 0, flash_bytes_per_second_ = 0;
  std::vector<Forecast> forecasts_;    // This budget's first.
};

// An engine that has not loaded its weights, and what was measured for it while there was room for that in its budget.
struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  double flash_bytes_per_second = 0;   // FlashSpeed; 0: nothing is streamed, or it cannot be known.
};

// Engine::Open; under a budget the line goes to standard error, and signals are caught (interrupt.h): from here on files are read in ways
// that whoever ends has to wait for.
absl::StatusOr<OpenedEngine> OpenEngine(const EngineOptions& options);

}  // namespace tessera
