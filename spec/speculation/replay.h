// What a drafter would have saved on a text that is known: passes and rows, without a model.
//
//   const Replayed replayed = Replay(drafter, prompt, output, {.max_nodes = 15});
//   replayed.tau();               // tokens per pass; 1 for a drafter that proposes nothing
//   replayed.rows_per_pass();     // what the passes would have cost
//
// As in decoding, the prompt's own pass gives the first token of the output, and each pass after it as many as were drafted right, and
// one more. There are no logits, so drafters that learn from them learn nothing. Thread-compatible.
#pragma once

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/spec/drafters/drafter.h"

namespace tessera {

struct Replayed {
  int64_t tokens = 0;           // Given by passes: all tokens of the outputs but the first of each.
  int64_t passes = 0;
  int64_t rows = 0;             // The roots included.

  double tau() const { return passes == 0 ? 1 : static_cast<double>(tokens) / static_cast<double>(passes); }
  double rows_per_pass() const { return passes == 0 ? 1 : static_cast<double>(rows) / static_cast<double>(passes); }
  Replayed& operator+=(const Replayed& other);   // Sums up several texts.
};

// The drafter's first error ends it, and so does what a Drafter must not do: InvalidArgument (drafter, pass, found, expected) for more
// nodes or deeper ones than the budget has, a token that is not below `vocabulary`, or another root than the one it was given.
absl::StatusOr<Replayed> Replay(Drafter& drafter, absl::Span<const TokenId> prompt, absl::Span<const TokenId> output,
                                const DraftBudget& budget, int vocabulary = std::numeric_limits<int>::max());

}  // namespace tessera
