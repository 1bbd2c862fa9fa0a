// What a memory budget gives: how much of the model stays in memory, how much each pass reads, and roughly how fast that will be.
//
//   ASSIGN_OR_RETURN(const BudgetReport report, BudgetReport::Make(*engine));       // probes memory and flash: about a second at most
//   WriteError(report.Line());                                                     // before starting
//   text += report.Table();          // this budget, the least, and two above; only the least if the model is not packed
//
// The forecast is for passes of one row. It is the longest of three times: the products at their speed in cache; reading weights from
// memory and writing streamed ones to it; and reading streamed weights from flash (docs/storage.md). A pass cannot be faster than that. The
// forecast leaves out attention, waits between the three, and other work on the machine. Thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/draft_flags.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine.h"

namespace tessera {

class BudgetReport {
 public:
  // The probes take no more memory than is planned for what is not loaded yet. The errors of MemoryPlanner::PlanBudget. REQUIRES:
  // engine.options().streaming.memory_budget > 0, and weights are not loaded.
  static absl::StatusOr<BudgetReport> Make(const Engine& engine);

  std::string Line() const;            // "memory budget 400 MiB: 3 of 51 units pinned, ...\n"
  std::string Table() const;
  double flash_bytes_per_second() const { return flash_bytes_per_second_; }
  void Write(JsonWriter& json) const;  // {"budget", "least", ..., "forecasts": [{"budget", "pinned_bytes", ...}]}

 private:
  struct Forecast {
    BudgetPlan plan;
    double tokens_per_second;   // 0: unknown, since the flash's speed is unknown.
  };
  double TokensPerSecond(const BudgetPlan& plan) const;

  bool packed_ = false;                           // Other files are not streamed.
  int units_ = 0;
  int wanted_logit_rows_ = 0;
  double pass_bytes_ = 0, product_seconds_ = 0;   // Weights of a pass, and the time of its products in cache.
  double memory_bytes_per_second_ = 0, flash_bytes_per_second_ = 0;
  std::vector<Forecast> forecasts_;    // The first is for this budget.
};

// An engine that has not loaded its weights, and what was measured while its budget had room for that.
struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  double flash_bytes_per_second = 0;   // FlashSpeed; 0: nothing is streamed, or it is unknown.
  std::shared_ptr<DraftModel> draft = nullptr;   // Open, too; null: none.
};

// Engine::Open; under a budget it also writes the line to standard error and catches signals (interrupt.h), since from here on the end of
// the program must wait for reads. draft: is opened beside it; null: none. REQUIRES: the options' plans count it (DraftModel::CountIn).
absl::StatusOr<OpenedEngine> OpenEngine(const EngineOptions& options, const std::shared_ptr<DraftModel>& draft = nullptr);

}  // namespace tessera
