// What memory under a budget is better spent on: a draft, or weights that are pinned in its place. By predicted tokens per second.
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
// A pass of n rows computes for as long as n times the products of a row, or as its weights take to be read from memory, where those that
// are streamed are written, too. What is not pinned is read from flash meanwhile, and while a draft is made, as far as the ring has room:
//
//   cycle = max( read / flash, draft + max( compute(n), (read - ring) / flash ) )
//
// Where a guess comes true with chance c if those before it did, n rows give 1 + c + ... + c^(n-1) tokens; a draft takes n - 1 of its own
// passes for that. Each use of memory is predicted at the number of rows that is best for it, one row among them. With a draft and the text
// to guess from, the better of the two counts: where both are right they mostly guess the same.
//
// Several texts share a pass, and so its reading. Each has n rows of it, and n - 1 passes of the draft: tokens, rows and the draft's time
// are so many times as much, so more texts leave less of a pass to guesses. Pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// kPins: more weights are pinned, and a pass gives a token. kRetrieval: the same, and drafters read the text. kDraft: fewer are pinned, and
// a draft is in memory. kBoth: fewer, with the draft and drafters that read the text.
enum class MemoryUse { kPins, kRetrieval, kDraft, kBoth };
inline constexpr std::array<MemoryUse, 4> kMemoryUses = {MemoryUse::kPins, MemoryUse::kRetrieval, MemoryUse::kDraft, MemoryUse::kBoth};
absl::string_view MemoryUseName(MemoryUse use);   // "pins", "retrieval", "draft", "both".

// That a guess comes true, if those before it did.
struct GuessChance {
  double value = 0;            // In [0, 1].
  bool is_measured = false;    // Else it is assumed.
};
// Assumed of a draft that nothing is known of: small models had 0.5 to 0.9 in Leviathan et al. 2023.
inline constexpr GuessChance kAssumedDraft = {.value = 0.65};
// And of what the earlier text says: a third less, since there is not always something to find.
inline constexpr GuessChance kAssumedRetrieval = {.value = 0.45};

// The chance by which a chain of so many rows gives so many tokens. REQUIRES: 1 <= tokens <= rows.
GuessChance ChanceOf(const CostProfile::Yield& yield);

// Where a plan has the weights.
struct PlannedWeights {
  int64_t pinned_bytes = 0;
  int64_t pass_bytes = 0;      // Read in each pass.
  int64_t ring_bytes = 0;
};

struct DraftChoiceInputs {
  double flash_bytes_per_second = 0;    // Above 0.
  double memory_bytes_per_second = 0;   // Above 0.
  double weight_bytes = 0;              // That a pass computes with; above 0.
  double row_seconds = 0;               // The products of a row, with weights in cache.
  double draft_token_seconds = 0;       // The draft's pass over one token.
  bool is_draft_measured = false;       // Its time; else it is estimated.
  PlannedWeights with_draft = {}, with_pins = {};
  GuessChance draft = kAssumedDraft, retrieval = kAssumedRetrieval;
  int texts = 1;                        // That are written at once, at least 1.
  int most_rows = 32;                   // In a pass, for each text; at least 1.
  // Passes of so many rows took no more than that. Null: not known. Must outlive the call.
  const CostProfile* costs = nullptr;
};

// Puts in what the profile knows of a draft of this name, and of the built-in drafters, the best of which counts; and its passes. It must
// outlive the inputs.
void UseProfile(const CostProfile& costs, absl::string_view draft, DraftChoiceInputs& inputs);

struct PredictedUse {
  double tokens_per_second = 0;         // All texts together.
  double tokens = 1;                    // That a pass gives them,
  int rows = 1;                         // which has so many rows.
};

struct DraftChoice {
  std::array<PredictedUse, 4> uses = {};   // In the order of kMemoryUses.
  bool drafts = true;                      // Both are at least as fast as pins with retrieval.

  const PredictedUse& of(MemoryUse use) const { return uses[static_cast<size_t>(use)]; }
};

// REQUIRES: speeds and weight_bytes above 0; a text.
DraftChoice ChooseDraft(const DraftChoiceInputs& inputs);

}  // namespace tessera
