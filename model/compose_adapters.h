// Makes one adapter of several: a row with the new adapter gets the sum of all parts, each times its own scale.
//
//   const AdapterShare parts[] = {{&style}, {&facts, /*scale=*/0.5f}};
//   ASSIGN_OR_RETURN(const LoraPlan plan, PlanComposedAdapter(parts));   // ranks and bytes, before memory has it
//   ASSIGN_OR_RETURN(const LoraAdapter both, ComposeAdapters(parts));    // the parts may go
//
// The ranks of the parts lie one behind another in the given order: A over A, B over B. A matrix has one scale: the largest of the parts'
// scales by magnitude. B of each other part is multiplied by the ratio of its scale to the largest. Numbers are copied unchanged if all
// parts have one format and one scale. Otherwise numbers take the narrowest format that holds all products exactly. As a rule the format
// has 16 bits if the scales are powers of two apart. Otherwise the format is FP32, and each product is rounded once. Only the parts, the
// scales and the order (the order of sums) decide bits.
//
// Errors: InvalidArgument (layer, placeholder, found, expected) for parts of different models, for ranks that exceed kLargestAdapterRank
// together, and for a scale that 32 bits do not hold. Threads: thread-safe (pure functions).
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/load_adapter.h"
#include "tessera/model/lora.h"

namespace tessera {

struct AdapterShare {
  const LoraAdapter* adapter = nullptr;
  float scale = 1;   // Multiplies the adapter's own scale.
};

// REQUIRES, for both functions: one part or more, none null.
absl::StatusOr<LoraAdapter> ComposeAdapters(absl::Span<const AdapterShare> parts);

// Returns the ranks and bytes of the adapter that ComposeAdapters would make. Holds the numbers of one matrix at a time.
absl::StatusOr<LoraPlan> PlanComposedAdapter(absl::Span<const AdapterShare> parts);

}  // namespace tessera
