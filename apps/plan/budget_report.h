// The effect of a memory budget: the part of the model that stays in memory, the bytes that each pass reads, and a rough speed.
//
//   ASSIGN_OR_RETURN(const BudgetReport report, BudgetReport::Make(*engine));       // probes memory and flash: about a second at most
//   WriteError(report.Line());                                                     // before starting
//   text += report.Table();          // this budget, the least, and two above; only the least if the model is not packed
//
// The forecast is for passes of one row (pass_speeds.h). No pass can be faster than the forecast. Thread-compatible.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/plan/draft_or_pins.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/plan/pass_speeds.h"

namespace tessera {

class BudgetReport {
 public:
  // Makes the report. speeds: speeds that were measured before; without `speeds`, measures. Errors: as MemoryPlanner::PlanBudget. REQUIRES:
  // engine.options().streaming.memory_budget > 0, and weights are not loaded.
  static absl::StatusOr<BudgetReport> Make(const Engine& engine, const std::optional<PassSpeeds>& speeds = std::nullopt);

  std::string Line() const;            // "memory budget 400 MiB: 3 of 51 units pinned, ...\n"
  std::string Table() const;
  double flash_bytes_per_second() const { return speeds_.flash_bytes_per_second; }
  void Write(JsonWriter& json) const;  // {"budget", "least", ..., "forecasts": [{"budget", "pinned_bytes", ...}]}

 private:
  struct Forecast {
    BudgetPlan plan;
    double tokens_per_second;   // 0: unknown, since the flash's speed is unknown.
  };

  bool packed_ = false;                           // Other files are not streamed,
  bool graphs_hold_weights_ = false;              // nor are weights that graphs hold.
  int units_ = 0;
  int wanted_logit_rows_ = 0;
  PassSpeeds speeds_ = {};
  std::vector<Forecast> forecasts_;    // The first is for this budget.
};

// An engine without loaded weights, and the measurements that were made while the budget had room for measuring.
struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  double flash_bytes_per_second = 0;   // FlashSpeed; 0: nothing is streamed, or the speed is unknown.
  std::shared_ptr<DraftModel> draft = nullptr;   // Open, too; null: no draft, or the draft was left out.
  std::optional<DraftUse> draft_use = std::nullopt;   // None: no draft was given.
};

// Opens the engine. Under a budget, writes the report's line to standard error and catches signals (interrupt.h), since from then on the
// end of the program must wait for reads. draft: opened with the engine, or left out, which a line reports (draft_or_pins.h); null: none.
// REQUIRES: the options' plans count the draft (DraftModel::CountIn).
absl::StatusOr<OpenedEngine> OpenEngine(const EngineOptions& options, const std::shared_ptr<DraftModel>& draft = nullptr);

}  // namespace tessera
