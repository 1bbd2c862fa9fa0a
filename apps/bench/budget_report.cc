#include "tessera/apps/bench/budget_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/flash_speed.h"
#include "tessera/apps/bench/machine_probe.h"
#include "tessera/apps/bench/pass_work.h"
#include "tessera/apps/bench/product_speed.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/runtime/core.h"

namespace tessera {
namespace {

constexpr int64_t kProbedMemory = int64_t{64} << 20;     // Larger than most caches, smaller than most budgets.
constexpr int kReadings = 3;

// Whole steps of the probe, one for each thread at least.
int64_t ProbedBytes(const Engine& engine, int64_t room) {
  const int64_t steps = std::min(room, kProbedMemory) / PeakLoops::kReadStep;
  return std::max<int64_t>(steps, engine.threads()) * PeakLoops::kReadStep;
}

// If the weights take less memory than that, the probe does, too.
absl::StatusOr<double> MemorySpeed(const Engine& engine, int64_t room) {
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(engine.options().compute.kernels));
  ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(engine).pool(), kernels, ProbedBytes(engine, room)));
  double best = 0;
  for (int i = 0; i < kReadings; ++i) best = std::max(best, probe.Read());
  return best;
}

// The seconds that the products of a row take with weights in cache.
absl::StatusOr<double> ProductSeconds(const Engine& engine, const PassWork& work) {
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(engine.options().compute.kernels));
  double seconds = 0;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const double operations = work.products[static_cast<int>(info.format)];
    if (operations == 0) continue;
    ASSIGN_OR_RETURN(const double of_thread, MeasureRowProduct(info.format, kernels));
    seconds += operations / (of_thread * engine.threads());
  }
  return seconds;
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
  ASSIGN_OR_RETURN(const BudgetPlan plan, engine.planner().PlanBudget(engine.options().streaming.memory_budget));
  report.units_ = engine.model().layout().units();
  report.wanted_logit_rows_ = engine.options().workload.logit_rows;
  const PassWork work = WeightWorkOf(engine, {.rows = 1});
  report.pass_bytes_ = work.weight_bytes;
  ASSIGN_OR_RETURN(report.product_seconds_, ProductSeconds(engine, work));
  const int64_t room = plan.budget - plan.process - plan.reserve;  // For weights, keys and values, scratch: none exists yet.
  ASSIGN_OR_RETURN(report.memory_bytes_per_second_, MemorySpeed(engine, room));
  std::vector<int64_t> others = {plan.least};
  report.packed_ = engine.model().file().packed() != nullptr;
  if (report.packed_) {
    ASSIGN_OR_RETURN(report.flash_bytes_per_second_, FlashSpeed(engine, room));
    const int64_t besides = plan.Total() - plan.memory.weights;
    const int64_t whole_pages = engine.model().layout().TotalBytes() + report.units_ * AlignedBuffer::kAlignment;
    const int64_t all = besides + whole_pages + LayerStreamer::kPartsBytes;
    others.insert(others.end(), {(plan.least + all) / 2, all});
  }
  report.forecasts_.push_back({plan, report.TokensPerSecond(plan)});
  for (const int64_t budget : others) {
    ASSIGN_OR_RETURN(BudgetPlan each, engine.planner().PlanBudget(std::max(budget, plan.least)));
    const double speed = report.TokensPerSecond(each);
    report.forecasts_.push_back({std::move(each), speed});
  }
  return report;
}

double BudgetReport::TokensPerSecond(const BudgetPlan& plan) const {
  const auto streamed = static_cast<double>(plan.weights.pass_bytes);
  if (streamed > 0 && flash_bytes_per_second_ == 0) return 0;
  const double memory_seconds = (pass_bytes_ + streamed) / memory_bytes_per_second_;
  const double flash_seconds = streamed > 0 ? streamed / flash_bytes_per_second_ : 0;
  return 1 / std::max({product_seconds_, memory_seconds, flash_seconds});
}

std::string BudgetReport::Line() const {
  const auto& [plan, speed] = forecasts_[0];
  const std::string about = speed > 0 ? absl::StrFormat("about %.3g tokens/s", speed) : "speed unknown";
  const std::string drafts =
      plan.logit_rows < wanted_logit_rows_ ? absl::StrFormat(", drafts of %d rows at most", plan.logit_rows - 1) : "";
  const std::string held = absl::StrCat("keys and values ", FormatByteSize(plan.memory.cache), drafts, "; ", about, "\n");
  if (!packed_) {
    return absl::StrFormat("memory budget %s: all weights in memory (%s), %s", FormatByteSize(plan.budget),
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
  if (packed_) return table.ToString();
  return absl::StrCat(table.ToString(), "All weights stay in memory, whatever the budget; packed with tessera_pack they need not.\n");
}

void BudgetReport::Write(JsonWriter& json) const {
  const BudgetPlan& plan = forecasts_[0].plan;
  json.BeginObject().Key("budget").Int(plan.budget).Key("least").Int(plan.least).Key("total").Int(plan.Total());
  json.Key("pinned_units").Int(PinnedUnits(plan)).Key("units").Int(units_).Key("logit_rows").Int(plan.logit_rows);
  json.Key("memory_bytes_per_second").Double(memory_bytes_per_second_, 4);
  json.Key("product_seconds").Double(product_seconds_, 4);
  WriteKnown(json.Key("flash_bytes_per_second"), flash_bytes_per_second_);
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
  opened.draft = draft;
  ASSIGN_OR_RETURN(opened.engine, Engine::Open(options, ModelFile::Weights::kAtOnce));
  WarnOfShortages(*opened.engine);
  if (draft != nullptr) RETURN_IF_ERROR(draft->Open(*opened.engine));
  if (options.streaming.memory_budget == 0) return opened;
  CatchSignals(CtrlC::kEndsProgram);
  const absl::StatusOr<BudgetReport> report = BudgetReport::Make(*opened.engine);
  RETURN_IF_ERROR(ExplainedBy(draft.get(), report.status()));
  WriteError(report->Line());
  opened.flash_bytes_per_second = report->flash_bytes_per_second();
  return opened;
}

}  // namespace tessera
