// Chooses the better use of memory under a budget: a draft, or weights that are pinned instead. By predicted tokens per second.
//
//   DraftChoiceInputs inputs = {.flash_bytes_per_second = 2.1e9, .memory_bytes_per_second = 20e9, .weight_bytes = 2.3e9,
//                               .row_seconds = 0.05, .draft_token_seconds = 0.006,
//                               .with_draft = {.pass_bytes = 1'900'000'000, .ring_bytes = 130'000'000},
//                               .with_pins = {.pass_bytes = 1'800'000'000, .ring_bytes = 130'000'000}};
//   UseProfile(costs, "draft", inputs);                           // what earlier runs measured, where there is a profile
//   const DraftChoice choice = ChooseDraft(inputs);
//   choice.of(MemoryUse::kBoth).tokens_per_second;                // with the draft, and fewer pins
//   choice.drafts;                                                // whether that is as fast as pins, or faster
//
// A pass of n rows computes for the longer of two times: n times the products of a row, or moving its weights. Moving means reading all
// weights from memory, and writing the streamed ones there, too. Weights that are not pinned are read from flash meanwhile. While a draft
// is made, weights are read as far as the ring has room:
//
//   cycle = max( read / flash, draft + max( compute(n), (read - ring) / flash ) )
//
// If a guess comes true with chance c after a correct guess, n rows give 1 + c + ... + c^(n-1) tokens. A draft takes n - 1 of its own
// passes for n rows. Each use of memory is predicted at its best number of rows; one row is among the candidates. With both a draft and
// guesses from the text, the better of the two counts: where both are right the guesses are mostly the same.
//
// Several texts share a pass, and so the reading. Each text has n rows of the pass, and n - 1 passes of the draft. Tokens, rows and the
// draft's time grow with the number of texts, so more texts leave less of a pass to guesses. Pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// kPins: more weights are pinned, and a pass gives a token. kRetrieval: like kPins, and drafters read the text. kDraft: fewer weights are
// pinned, and a draft is in memory. kBoth: fewer weights are pinned, with the draft and drafters that read the text.
enum class MemoryUse { kPins, kRetrieval, kDraft, kBoth };
inline constexpr std::array<MemoryUse, 4> kMemoryUses = {MemoryUse::kPins, MemoryUse::kRetrieval, MemoryUse::kDraft, MemoryUse::kBoth};
absl::string_view MemoryUseName(MemoryUse use);   // "pins", "retrieval", "draft", "both".

// The chance that a guess comes true if the guesses before did.
struct GuessChance {
  double value = 0;            // In [0, 1].
  bool is_measured = false;    // Else assumed.
};
// Assumed for an unknown draft: small models had 0.5 to 0.9 in Leviathan et al. 2023.
inline constexpr GuessChance kAssumedDraft = {.value = 0.65};
// Assumed for guesses from the earlier text: a third less, since there is not always a match.
inline constexpr GuessChance kAssumedRetrieval = {.value = 0.45};

// Returns the chance for which a chain of yield.rows rows gives yield.tokens tokens. REQUIRES: 1 <= tokens <= rows.
GuessChance ChanceOf(const CostProfile::Yield& yield);

// The places of the weights in a plan.
struct PlannedWeights {
  int64_t pinned_bytes = 0;
  int64_t pass_bytes = 0;      // Read in each pass.
  int64_t ring_bytes = 0;
};

struct DraftChoiceInputs {
  double flash_bytes_per_second = 0;    // Above 0.
  double memory_bytes_per_second = 0;   // Above 0.
  double weight_bytes = 0;              // Used in each pass; above 0.
  double row_seconds = 0;               // The products of a row, with weights in cache.
  double draft_token_seconds = 0;       // The draft's pass over one token.
  bool is_draft_measured = false;       // Whether draft_token_seconds is measured; else estimated.
  PlannedWeights with_draft = {}, with_pins = {};
  GuessChance draft = kAssumedDraft, retrieval = kAssumedRetrieval;
  int texts = 1;                        // Written at the same time, at least 1.
  int most_rows = 32;                   // In a pass, for each text; at least 1.
  // Upper bounds of the seconds of passes, by rows. Null: unknown. Must outlive the call.
  const CostProfile* costs = nullptr;
};

// Puts in the profile's values for a draft of this name, for the best of the built-in drafters, and for passes. `costs` must outlive the
// inputs.
void UseProfile(const CostProfile& costs, absl::string_view draft, DraftChoiceInputs& inputs);

struct PredictedUse {
  double tokens_per_second = 0;         // All texts together.
  double tokens = 1;                    // Per pass, all texts together,
  int rows = 1;                         // with this number of rows.
};

struct DraftChoice {
  std::array<PredictedUse, 4> uses = {};   // In the order of kMemoryUses.
  bool drafts = true;                      // kBoth is at least as fast as kRetrieval.

  const PredictedUse& of(MemoryUse use) const { return uses[static_cast<size_t>(use)]; }
};

// Predicts each use. REQUIRES: speeds and weight_bytes above 0; at least one text.
DraftChoice ChooseDraft(const DraftChoiceInputs& inputs);

}  // namespace tessera
