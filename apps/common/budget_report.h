// What a memory budget buys: how much of the model stays in memory, what each pass reads, and how fast that will be about.
//
//   ASSIGN_OR_RETURN(const BudgetReport report, BudgetReport::Make(*engine));       // probes memory and flash: well under a second
//   WriteError(report.Line());                                                     // before starting
//   text += report.Table();                                                        // this budget and three others
//
// The forecast: a pass takes as long as reading all weights from memory, or the streamed ones from flash, whichever is longer
// (docs/storage.md). It knows nothing of attention or of other work on the machine. Thread-compatible.
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
  // REQUIRES: engine.options().memory_budget > 0. The errors of Engine::PlanBudget.
  static absl::StatusOr<BudgetReport> Make(const Engine& engine);

  std::string Line() const;            // "memory budget 400 MiB: 3 of 51 units pinned, ...\n"
  std::string Table() const;
  void Write(JsonWriter& json) const;  // {"budget", "least", ..., "forecasts": [{"budget", "pinned_bytes", ...}]}

 private:
  struct Forecast {
    BudgetPlan plan;
    double tokens_per_second;   // 0: it cannot be known, since the flash's speed is not.
  };
  double TokensPerSecond(const BudgetPlan& plan) const;

  int units_ = 0;
  int wanted_logit_rows_ = 0;
  int64_t weight_bytes_ = 0;
  double memory_bytes_per_second_ = 0, flash_bytes_per_second_ = 0;
  std::vector<Forecast> forecasts_;    // This budget's first.
};

// Engine::Open; the line goes to standard error if weights may have to be streamed.
absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(EngineOptions options);

}  // namespace tessera
