#include "tessera/apps/plan/draft_or_pins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/plan/pass_work.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {
namespace {

PlannedWeights WeightsOf(const StreamPlan& plan) {
  return {.pinned_bytes = plan.pins.bytes, .pass_bytes = plan.pass_bytes, .ring_bytes = plan.ring_bytes};
}

double RowBytes(const DraftModel& draft) {
  if (draft.engine() != nullptr) return WeightWorkOf(*draft.engine(), {.rows = 1}).weight_bytes;
  return static_cast<double>(draft.parts().weights + draft.parts().head);
}

// Returns the profile; nothing if there is none yet.
absl::StatusOr<std::optional<CostProfile>> ProfileOfFlag() {
  if (FLAGS_cost_profile.empty()) return std::nullopt;
  absl::StatusOr<CostProfile> costs = CostProfile::Load(FLAGS_cost_profile);
  if (absl::IsNotFound(costs.status())) return std::nullopt;
  RETURN_IF_ERROR(ForFile("cost_profile", costs.status()));
  return *std::move(costs);
}

const char* PhraseOf(MemoryUse use) {
  switch (use) {
    case MemoryUse::kPins: return "more pins";
    case MemoryUse::kRetrieval: return "more pins, drafts from the text";
    case MemoryUse::kDraft: return "draft model";
    case MemoryUse::kBoth: return "draft model, drafts from the text";
  }
  return "";
}

// Returns "65 % of the draft's guesses come true (assumed), ...".
std::string Basis(const DraftChoiceInputs& inputs) {
  const auto source = [](const GuessChance& chance) { return chance.is_measured ? "measured" : "assumed"; };
  const std::string texts = inputs.texts > 1 ? absl::StrCat(inputs.texts, " texts at once, ") : "";
  return absl::StrFormat("%s%.0f %% of the draft's guesses come true (%s), %.0f %% of the text's (%s), its time is %s",
                         texts, 100 * inputs.draft.value, source(inputs.draft), 100 * inputs.retrieval.value, source(inputs.retrieval),
                         inputs.is_draft_measured ? "measured" : "estimated");
}

std::string MorePinned(const DraftChoiceInputs& inputs) {
  return FormatByteSize(std::max<int64_t>(inputs.with_pins.pinned_bytes - inputs.with_draft.pinned_bytes, 0));
}

void WriteChance(JsonWriter& json, const GuessChance& chance) {
  json.BeginObject().Key("value").Double(chance.value, 4).Key("measured").Bool(chance.is_measured).EndObject();
}

}  // namespace

DraftChoiceInputs DraftInputsFor(const PassSpeeds& speeds, const StreamPlan& with_draft, const StreamPlan& with_pins,
                                 double draft_row_bytes) {
  const double row = std::max(speeds.product_seconds, speeds.weight_bytes / speeds.memory_bytes_per_second);
  return {.flash_bytes_per_second = speeds.flash_bytes_per_second,
          .memory_bytes_per_second = speeds.memory_bytes_per_second,
          .weight_bytes = speeds.weight_bytes,
          .row_seconds = speeds.product_seconds,
          .draft_token_seconds = row * draft_row_bytes / speeds.weight_bytes,
          .with_draft = WeightsOf(with_draft),
          .with_pins = WeightsOf(with_pins)};
}

absl::StatusOr<DraftUse> DraftUse::Settle(const Engine& engine, DraftModel& draft, const absl::Status& opened) {
  DraftUse use = {.is_by_name = !draft.may_be_left_out(), .has_retrieval = FLAGS_speculate != kDraftName};
  const auto leave_out = [&](absl::string_view refusal) {
    draft.LeaveOut();
    use.drafts = false;
    use.refusal = std::string(refusal);
  };
  if (!opened.ok()) {
    if (use.is_by_name || !absl::IsResourceExhausted(opened)) return opened;
    leave_out(WithFlagNames(opened).message());
    return use;
  }
  if (engine.options().streaming.memory_budget == 0) return use;
  const absl::StatusOr<BudgetPlan> plan = engine.planner().PlanBudget(engine.options().streaming.memory_budget);
  if (!plan.ok()) {
    if (use.is_by_name || !absl::IsResourceExhausted(plan.status())) return draft.Explained(plan.status());
    RETURN_IF_ERROR(draft.PlanWithoutIt(engine).status());
    leave_out(draft.Explained(plan.status()).message());
    return use;
  }
  RETURN_IF_ERROR(use.Predict(engine, draft, *plan));
  if (!use.is_by_name && use.prediction.has_value() && !use.prediction->choice.drafts) leave_out("");
  return use;
}

absl::Status DraftUse::Predict(const Engine& engine, DraftModel& draft, const BudgetPlan& plan) {
  if (engine.model().file().packed() == nullptr || draft.has_forecasts()) return absl::OkStatus();
  ASSIGN_OR_RETURN(speeds, PassSpeeds::Measure(engine, plan));
  LOG_IF(WARNING, !speeds->warning.empty()) << speeds->warning;
  is_flash_unknown = speeds->flash_bytes_per_second <= 0;
  if (is_flash_unknown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BudgetPlan without, draft.PlanWithoutIt(engine));
  ASSIGN_OR_RETURN(const std::optional<CostProfile> costs, ProfileOfFlag());
  Prediction made = {.inputs = DraftInputsFor(*speeds, plan.weights, without.weights, RowBytes(draft))};
  made.inputs.texts = engine.options().workload.sessions;
  if (costs.has_value()) UseProfile(*costs, draft.drafter_name(), made.inputs);
  made.choice = ChooseDraft(made.inputs);
  made.inputs.costs = nullptr;
  prediction = made;
  return absl::OkStatus();
}

MemoryUse DraftUse::chosen() const {
  if (!drafts) return MemoryUse::kRetrieval;
  return has_retrieval ? MemoryUse::kBoth : MemoryUse::kDraft;
}

std::string DraftUse::Line() const {
  if (!refusal.empty()) {
    return absl::StrCat("speculation: the draft model is left out: ", refusal, " (--speculate=draft makes that an error)\n");
  }
  if (is_flash_unknown) {
    return absl::StrCat("speculation: ", PhraseOf(chosen()), "; whether pins in its place were faster is not known, as the flash's speed "
                        "is not\n");
  }
  if (!prediction.has_value()) return "";
  const DraftChoice& choice = prediction->choice;
  const std::string more = MorePinned(prediction->inputs), basis = Basis(prediction->inputs);
  const double pins = choice.of(has_retrieval ? MemoryUse::kRetrieval : MemoryUse::kPins).tokens_per_second;
  if (drafts) {
    return absl::StrFormat("speculation: %s, about %.3g tokens/s; with %s more of the weights pinned in its place about %.3g (%s)\n",
                           PhraseOf(chosen()), choice.of(chosen()).tokens_per_second, more, pins, basis);
  }
  return absl::StrFormat("speculation: the draft model is left out, so %s more of the weights are pinned: about %.3g tokens/s, with it "
                         "%.3g (%s); --speculate=draft has it all the same\n",
                         more, pins, choice.of(MemoryUse::kBoth).tokens_per_second, basis);
}

std::string DraftUse::Table() const {
  if (!prediction.has_value()) return Line();
  constexpr auto kRight = tessera::Table::Align::kRight;   // Table is this function here.
  tessera::Table table({{"memory goes to"}, {"pinned", kRight}, {"read in a pass", kRight}, {"rows", kRight}, {"tokens per pass", kRight},
                        {"tokens/s, about", kRight}});
  for (const MemoryUse use : kMemoryUses) {
    const bool has_draft = use == MemoryUse::kDraft || use == MemoryUse::kBoth;
    const PlannedWeights& weights = has_draft ? prediction->inputs.with_draft : prediction->inputs.with_pins;
    const PredictedUse& predicted = prediction->choice.of(use);
    table.AddRow({PhraseOf(use), FormatByteSize(weights.pinned_bytes), FormatByteSize(weights.pass_bytes), absl::StrCat(predicted.rows),
                  absl::StrFormat("%.2f", predicted.tokens), absl::StrFormat("%.3g", predicted.tokens_per_second)});
  }
  return absl::StrCat(table.ToString(), is_by_name ? "as asked for: " : "chosen: ", PhraseOf(chosen()), "; ", Basis(prediction->inputs),
                      "\n");
}

void DraftUse::Write(JsonWriter& json) const {
  json.BeginObject().Key("chosen").String(MemoryUseName(chosen())).Key("by_name").Bool(is_by_name).Key("refusal");
  if (refusal.empty()) json.Null(); else json.String(refusal);
  json.Key("predicted");
  if (!prediction.has_value()) {
    json.Null().EndObject();
    return;
  }
  const DraftChoiceInputs& inputs = prediction->inputs;
  json.BeginObject();
  for (const MemoryUse use : kMemoryUses) {
    const PredictedUse& predicted = prediction->choice.of(use);
    json.Key(MemoryUseName(use)).BeginObject().Key("tokens_per_second").Double(predicted.tokens_per_second, 4);
    json.Key("tokens_per_pass").Double(predicted.tokens, 4).Key("rows").Int(predicted.rows).EndObject();
  }
  json.EndObject().Key("texts").Int(inputs.texts).Key("pinned_bytes").Int(inputs.with_draft.pinned_bytes);
  json.Key("pinned_bytes_without_draft").Int(inputs.with_pins.pinned_bytes).Key("chances").BeginObject();
  WriteChance(json.Key("draft"), inputs.draft);
  WriteChance(json.Key("retrieval"), inputs.retrieval);
  json.EndObject().Key("draft_token_seconds").Double(inputs.draft_token_seconds, 4).EndObject();
}

}  // namespace tessera
