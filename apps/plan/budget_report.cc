#include "tessera/apps/plan/budget_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

int PinnedUnits(const BudgetPlan& plan) {
  return static_cast<int>(std::count(plan.weights.pins.pinned.begin(), plan.weights.pins.pinned.end(), true));
}

// Writes the value, or null for 0.
void WriteKnown(JsonWriter& json, double value) {
  if (value > 0) json.Double(value, 4); else json.Null();
}

}  // namespace

absl::StatusOr<BudgetReport> BudgetReport::Make(const Engine& engine, const std::optional<PassSpeeds>& speeds) {
  BudgetReport report;
  ASSIGN_OR_RETURN(const BudgetPlan plan, engine.planner().PlanBudget(engine.options().streaming.memory_budget));
  report.units_ = engine.model().layout().units();
  report.wanted_logit_rows_ = engine.options().workload.logit_rows;
  if (speeds.has_value()) {
    report.speeds_ = *speeds;
  } else {
    ASSIGN_OR_RETURN(report.speeds_, PassSpeeds::Measure(engine, plan));
    LOG_IF(WARNING, !report.speeds_.warning.empty()) << report.speeds_.warning;
  }
  std::vector<int64_t> others = {plan.least};
  report.graphs_hold_weights_ = engine.options().compute.graphs_hold_weights;
  report.packed_ = engine.model().file().packed() != nullptr && !report.graphs_hold_weights_;
  if (report.packed_) {
    const int64_t besides = plan.Total() - plan.memory.weights;
    const int64_t whole_pages = engine.model().layout().TotalBytes() + report.units_ * AlignedBuffer::kAlignment;
    const int64_t all = besides + whole_pages + LayerStreamer::kPartsBytes;
    others.insert(others.end(), {(plan.least + all) / 2, all});
  }
  report.forecasts_.push_back({plan, report.speeds_.TokensPerSecond(plan.weights.pass_bytes)});
  for (const int64_t budget : others) {
    ASSIGN_OR_RETURN(BudgetPlan each, engine.planner().PlanBudget(std::max(budget, plan.least)));
    const double speed = report.speeds_.TokensPerSecond(each.weights.pass_bytes);
    report.forecasts_.push_back({std::move(each), speed});
  }
  return report;
}

std::string BudgetReport::Line() const {
  const auto& [plan, speed] = forecasts_[0];
  const std::string about = speed > 0 ? absl::StrFormat("about %.3g tokens/s", speed) : "speed unknown";
  const std::string drafts =
      plan.logit_rows < wanted_logit_rows_ ? absl::StrFormat(", drafts of %d rows at most", plan.logit_rows - 1) : "";
  const std::string held = absl::StrCat("keys and values ", FormatByteSize(plan.memory.cache), drafts, "; ", about, "\n");
  if (!packed_) {
    return absl::StrFormat("memory budget %s: %s (%s), %s", FormatByteSize(plan.budget),
                           graphs_hold_weights_ ? "weights in graphs and beside them" : "all weights in memory",
                           FormatByteSize(plan.memory.weights), held);
  }
  const std::string ring = FormatByteSize(plan.weights.ring_bytes);
  return absl::StrFormat("memory budget %s: %d of %d units pinned (%s), %s, %s", FormatByteSize(plan.budget), PinnedUnits(plan), units_,
                         FormatByteSize(plan.weights.pins.bytes),
                         plan.weights.streamed_bytes > 0 && plan.weights.pass_bytes == 0
                             ? absl::StrCat(FormatByteSize(plan.weights.streamed_bytes), " read once, for a ring of ", ring, " holds them")
                             : absl::StrCat(FormatByteSize(plan.weights.pass_bytes), " read in each pass through a ring of ", ring),
                         held);
}

std::string BudgetReport::Table() const {
  tessera::Table table({{"budget", Table::Align::kRight}, {"pinned", Table::Align::kRight}, {"ring", Table::Align::kRight},
                        {"read in a pass", Table::Align::kRight}, {"tokens/s, about", Table::Align::kRight}});
  for (const auto& [plan, speed] : forecasts_) {
    table.AddRow({FormatByteSize(plan.budget), FormatByteSize(plan.weights.pins.bytes), FormatByteSize(plan.weights.ring_bytes),
                  FormatByteSize(plan.weights.pass_bytes), speed > 0 ? absl::StrFormat("%.3g", speed) : "unknown"});
  }
  if (packed_ || graphs_hold_weights_) return table.ToString();
  return absl::StrCat(table.ToString(), "All weights stay in memory, whatever the budget; packed with tessera_pack they need not.\n");
}

void BudgetReport::Write(JsonWriter& json) const {
  const BudgetPlan& plan = forecasts_[0].plan;
  json.BeginObject().Key("budget").Int(plan.budget).Key("least").Int(plan.least).Key("total").Int(plan.Total());
  json.Key("pinned_units").Int(PinnedUnits(plan)).Key("units").Int(units_).Key("logit_rows").Int(plan.logit_rows);
  json.Key("memory_bytes_per_second").Double(speeds_.memory_bytes_per_second, 4);
  json.Key("product_seconds").Double(speeds_.product_seconds, 4);
  WriteKnown(json.Key("flash_bytes_per_second"), speeds_.flash_bytes_per_second);
  json.Key("forecasts").BeginArray();
  for (const auto& [each, speed] : forecasts_) {
    json.BeginObject().Key("budget").Int(each.budget).Key("pinned_bytes").Int(each.weights.pins.bytes);
    json.Key("ring_bytes").Int(each.weights.ring_bytes).Key("streamed_bytes_per_pass").Int(each.weights.pass_bytes);
    WriteKnown(json.Key("tokens_per_second"), speed);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

absl::StatusOr<OpenedEngine> OpenEngine(const EngineOptions& options, const std::shared_ptr<DraftModel>& draft) {
  OpenedEngine opened;
  ASSIGN_OR_RETURN(opened.engine, Engine::Open(options, ModelFile::Weights::kAtOnce));
  WarnOfShortages(*opened.engine);
  const absl::Status with_draft = draft == nullptr ? absl::OkStatus() : draft->Open(*opened.engine);
  if (options.streaming.memory_budget > 0) CatchSignals(CtrlC::kEndsProgram);
  std::optional<PassSpeeds> speeds;
  if (draft != nullptr) {
    ASSIGN_OR_RETURN(opened.draft_use, DraftUse::Settle(*opened.engine, *draft, with_draft));
    WriteMessage(opened.draft_use->Line());
    if (opened.draft_use->drafts) opened.draft = draft;
    speeds = opened.draft_use->speeds;
  }
  if (options.streaming.memory_budget == 0) return opened;
  const absl::StatusOr<BudgetReport> report = BudgetReport::Make(*opened.engine, speeds);
  RETURN_IF_ERROR(ExplainedBy(opened.draft.get(), report.status()));
  WriteMessage(report->Line());
  opened.flash_bytes_per_second = report->flash_bytes_per_second();
  return opened;
}

}  // namespace tessera
