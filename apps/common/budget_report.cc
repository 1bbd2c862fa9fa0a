#include "tessera/apps/common/budget_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/common/flash_speed.h"
#include "tessera/apps/common/machine_probe.h"
#include "tessera/apps/common/output.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr int64_t kProbedMemory = int64_t{64} << 20;     // Larger than most caches, smaller than most budgets.
constexpr int kReadings = 3;

absl::StatusOr<double> MemorySpeed(const Engine& engine) {
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(engine.options().kernels));
  ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(engine.pool(), kernels, kProbedMemory));
  double best = 0;
  for (int i = 0; i < kReadings; ++i) best = std::max(best, probe.Read());
  return best;
}

int PinnedUnits(const BudgetPlan& plan) {
  return static_cast<int>(std::count(plan.weights.pins.pinned.begin(), plan.weights.pins.pinned.end(), true));
}

// Null for 0.
void WriteKnown(JsonWriter& json, double value) {
  if (value > 0) json.Double(value, 4); else json.Null();
}

}  // namespace

absl::StatusOr<BudgetReport> BudgetReport::Make(const Engine& engine) {
  BudgetReport report;
  ASSIGN_OR_RETURN(const BudgetPlan plan, engine.PlanBudget(engine.options().memory_budget));
  report.units_ = engine.layout().units();
  report.wanted_logit_rows_ = engine.options().logit_rows;
  report.weight_bytes_ = engine.layout().TotalBytes();
  ASSIGN_OR_RETURN(report.memory_bytes_per_second_, MemorySpeed(engine));
  std::vector<int64_t> budgets = {plan.budget};
  if (engine.model_file().packed() != nullptr) {
    report.flash_bytes_per_second_ = FlashSpeed(engine);
    const int64_t besides = plan.Total() - plan.memory.weights;
    const int64_t whole_pages = report.weight_bytes_ + report.units_ * AlignedBuffer::kAlignment;
    const int64_t all = besides + whole_pages + LayerStreamer::kPartsBytes;
    for (const int64_t budget : {plan.least, (plan.least + all) / 2, all}) budgets.push_back(budget);
  }
  for (const int64_t budget : budgets) {
    ASSIGN_OR_RETURN(BudgetPlan each, engine.PlanBudget(std::max(budget, plan.least)));
    const double speed = report.TokensPerSecond(each);
    report.forecasts_.push_back({std::move(each), speed});
  }
  return report;
}

double BudgetReport::TokensPerSecond(const BudgetPlan& plan) const {
  double seconds = static_cast<double>(weight_bytes_) / memory_bytes_per_second_;
  if (plan.weights.streamed_bytes > 0) {
    if (flash_bytes_per_second_ == 0) return 0;
    seconds = std::max(seconds, static_cast<double>(plan.weights.streamed_bytes) / flash_bytes_per_second_);
  }
  return 1 / seconds;
}

std::string BudgetReport::Line() const {
  const auto& [plan, speed] = forecasts_[0];
  const std::string drafts = plan.logit_rows < wanted_logit_rows_ ? absl::StrFormat(", drafts of %d rows at most", plan.logit_rows - 1) : "";
  return absl::StrFormat("memory budget %s: %d of %d units pinned (%s), %s read in each pass through a ring of %s, keys and values %s%s; "
                         "%s\n",
                         FormatByteSize(plan.budget), PinnedUnits(plan), units_, FormatByteSize(plan.weights.pins.bytes),
                         FormatByteSize(plan.weights.streamed_bytes), FormatByteSize(plan.weights.ring_bytes),
                         FormatByteSize(plan.memory.cache), drafts, speed > 0 ? absl::StrFormat("about %.3g tokens/s", speed) : "speed unknown");
}

std::string BudgetReport::Table() const {
  tessera::Table table({{"budget", Table::Align::kRight}, {"pinned", Table::Align::kRight}, {"ring", Table::Align::kRight},
                        {"read in a pass", Table::Align::kRight}, {"tokens/s, about", Table::Align::kRight}});
  for (const auto& [plan, speed] : forecasts_) {
    table.AddRow({FormatByteSize(plan.budget), FormatByteSize(plan.weights.pins.bytes), FormatByteSize(plan.weights.ring_bytes),
                  FormatByteSize(plan.weights.streamed_bytes), speed > 0 ? absl::StrFormat("%.3g", speed) : "unknown"});
  }
  return table.ToString();
}

void BudgetReport::Write(JsonWriter& json) const {
  const BudgetPlan& plan = forecasts_[0].plan;
  json.BeginObject().Key("budget").Int(plan.budget).Key("least").Int(plan.least).Key("total").Int(plan.Total());
  json.Key("pinned_units").Int(PinnedUnits(plan)).Key("units").Int(units_).Key("logit_rows").Int(plan.logit_rows);
  json.Key("memory_bytes_per_second").Double(memory_bytes_per_second_, 4);
  WriteKnown(json.Key("flash_bytes_per_second"), flash_bytes_per_second_);
  json.Key("forecasts").BeginArray();
  for (const auto& [each, speed] : forecasts_) {
    json.BeginObject().Key("budget").Int(each.budget).Key("pinned_bytes").Int(each.weights.pins.bytes);
    json.Key("ring_bytes").Int(each.weights.ring_bytes).Key("streamed_bytes_per_pass").Int(each.weights.streamed_bytes);
    WriteKnown(json.Key("tokens_per_second"), speed);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(EngineOptions options) {
  options.loads_weights = true;
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Open(options));
  if (options.memory_budget == 0 || engine->model_file().packed() == nullptr) return engine;
  ASSIGN_OR_RETURN(const BudgetReport report, BudgetReport::Make(*engine));
  WriteError(report.Line());
  return engine;
}

}  // namespace tessera
