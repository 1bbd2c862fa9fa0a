#include "tessera/spec/speculation/draft_choice.h"

#include <algorithm>
#include <optional>
#include <string>

#include <glog/logging.h>

#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {
namespace {

double TokensOf(double chance, double rows) {
  double tokens = 0, reached = 1;
  for (; rows >= 1; --rows, reached *= chance) tokens += reached;
  return tokens + rows * reached;   // A part of a row, which an average may have.
}

double ComputeSeconds(const DraftChoiceInputs& inputs, const PlannedWeights& weights, int rows) {
  const double moved = inputs.weight_bytes + static_cast<double>(weights.pass_bytes);
  const double seconds = std::max(rows * inputs.row_seconds, moved / inputs.memory_bytes_per_second);
  if (inputs.costs == nullptr || !inputs.costs->KnowsPlain()) return seconds;
  return std::min(seconds, inputs.costs->PassSeconds({.rows = rows, .leaves = inputs.texts, .texts = inputs.texts}) +
                               inputs.costs->HeadSeconds(inputs.texts));
}

double CycleSeconds(const DraftChoiceInputs& inputs, const PlannedWeights& weights, int rows, double draft_seconds) {
  const double flash = inputs.flash_bytes_per_second;
  const double read = static_cast<double>(weights.pass_bytes);
  const double beyond_ring = std::max(read - static_cast<double>(weights.ring_bytes), 0.0);
  return std::max(read / flash, draft_seconds + std::max(ComputeSeconds(inputs, weights, rows), beyond_ring / flash));
}

// Predicts a use at its best number of rows per text; the least of equal ones.
PredictedUse Predict(const DraftChoiceInputs& inputs, const PlannedWeights& weights, double chance, double token_seconds) {
  PredictedUse best;
  double best_seconds = 0;
  for (int each = 1; each <= std::max(inputs.most_rows, 1); ++each) {
    const int rows = inputs.texts * each;
    const double tokens = inputs.texts * TokensOf(chance, each);
    const double seconds = CycleSeconds(inputs, weights, rows, (rows - inputs.texts) * token_seconds);
    // Not by the rate, which is rounded: a row that gives nothing would sometimes seem to give something.
    if (each > 1 && !(tokens * best_seconds > best.tokens * seconds)) continue;
    best = {.tokens_per_second = tokens / seconds, .tokens = tokens, .rows = rows};
    best_seconds = seconds;
  }
  return best;
}

}  // namespace

absl::string_view MemoryUseName(MemoryUse use) {
  switch (use) {
    case MemoryUse::kPins: return "pins";
    case MemoryUse::kRetrieval: return "retrieval";
    case MemoryUse::kDraft: return "draft";
    case MemoryUse::kBoth: return "both";
  }
  return "unknown";
}

GuessChance ChanceOf(const CostProfile::Yield& yield) {
  double least = 0, most = 1;
  for (int step = 0; step < 40; ++step) {
    const double middle = (least + most) / 2;
    (TokensOf(middle, yield.rows) < yield.tokens ? least : most) = middle;
  }
  return {.value = most, .is_measured = true};
}

void UseProfile(const CostProfile& costs, absl::string_view draft, DraftChoiceInputs& inputs) {
  inputs.costs = &costs;
  if (const std::optional<CostProfile::Yield> yield = costs.YieldOf(draft); yield.has_value() && yield->rows > 1) {
    inputs.draft = ChanceOf(*yield);
    if (const double seconds = costs.DraftSeconds(draft); seconds > 0) {
      inputs.draft_token_seconds = seconds / (yield->rows - 1);
      inputs.is_draft_measured = true;
    }
  }
  for (const std::string& name : DrafterRegistry::BuiltIn().Names()) {
    const std::optional<CostProfile::Yield> yield = costs.YieldOf(name);
    if (!yield.has_value() || yield->rows <= 1) continue;
    const GuessChance chance = ChanceOf(*yield);
    if (!inputs.retrieval.is_measured || chance.value > inputs.retrieval.value) inputs.retrieval = chance;
  }
}

DraftChoice ChooseDraft(const DraftChoiceInputs& inputs) {
  CHECK(inputs.flash_bytes_per_second > 0 && inputs.memory_bytes_per_second > 0 && inputs.weight_bytes > 0);
  CHECK_GE(inputs.texts, 1);
  const PredictedUse from_text = Predict(inputs, inputs.with_draft, inputs.retrieval.value, /*token_seconds=*/0);
  DraftChoice choice;
  const auto at = [&](MemoryUse use) -> PredictedUse& { return choice.uses[static_cast<size_t>(use)]; };
  at(MemoryUse::kPins) = Predict(inputs, inputs.with_pins, /*chance=*/0, /*token_seconds=*/0);
  at(MemoryUse::kRetrieval) = Predict(inputs, inputs.with_pins, inputs.retrieval.value, /*token_seconds=*/0);
  at(MemoryUse::kDraft) = Predict(inputs, inputs.with_draft, inputs.draft.value, inputs.draft_token_seconds);
  const bool text_is_better = from_text.tokens_per_second > choice.of(MemoryUse::kDraft).tokens_per_second;
  at(MemoryUse::kBoth) = text_is_better ? from_text : choice.of(MemoryUse::kDraft);
  choice.drafts = choice.of(MemoryUse::kBoth).tokens_per_second >= choice.of(MemoryUse::kRetrieval).tokens_per_second;
  return choice;
}

}  // namespace tessera
