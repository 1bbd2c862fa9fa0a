// One adapter made of several: a row that has it gets the sum of all parts, each times a scale of its own.
//
//   const AdapterShare parts[] = {{&style}, {&facts, /*scale=*/0.5f}};
//   ASSIGN_OR_RETURN(const LoraPlan plan, PlanComposedAdapter(parts));   // ranks and bytes, before memory has it
//   ASSIGN_OR_RETURN(const LoraAdapter both, ComposeAdapters(parts));    // the parts may go
//
// The ranks of the parts lie one behind another in the order given: A over A, B over B. A matrix has one scale, the largest of its parts'
// by magnitude; B of each other part is multiplied by the ratio of its scale to the largest. Numbers are copied as they are where the parts
// have one format and one scale. Else they take the narrowest format that holds all of them exactly, after that product: 16 bits where the
// scales are powers of two apart, as a rule; otherwise FP32, to which the product is rounded once. So the order decides bits (the order of
// sums), and nothing but the parts and their scales does.
//
// Errors are InvalidArgument (layer, placeholder, found, expected): parts of different models, ranks that are more than
// kLargestAdapterRank together, a scale that 32 bits do not hold. Thread-safe (pure functions).
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/load_adapter.h"
#include "tessera/model/lora.h"

namespace tessera {

struct AdapterShare {
  const LoraAdapter* adapter = nullptr;
  float scale = 1;   // Times the adapter's own.
};

// REQUIRES of both: one part or more, none of them null.
absl::StatusOr<LoraAdapter> ComposeAdapters(absl::Span<const AdapterShare> parts);

// Returns the ranks and bytes of the adapter that ComposeAdapters would make. Holds the numbers of one matrix at a time.
absl::StatusOr<LoraPlan> PlanComposedAdapter(absl::Span<const AdapterShare> parts);

}  // namespace tessera
