// Counts the passes and rows that a drafter would have saved on a known text, without a model.
//
//   const Replayed replayed = Replay(drafter, prompt, output, {.max_nodes = 15});
//   replayed.tau();               // tokens per pass; 1 for a drafter that proposes nothing
//   replayed.rows_per_pass();     // what the passes would have cost
//
// The prompt's own pass gives the first token of the output, as in decoding. Each later pass gives the correctly drafted tokens, and one
// more. There are no logits, so drafters that learn from logits learn nothing. Thread-compatible.
#pragma once

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/spec/drafters/drafter.h"

namespace tessera {

struct Replayed {
  int64_t tokens = 0;           // From passes: all tokens of the outputs except the first of each.
  int64_t passes = 0;
  int64_t rows = 0;             // Roots included.

  double tau() const { return passes == 0 ? 1 : static_cast<double>(tokens) / static_cast<double>(passes); }
  double rows_per_pass() const { return passes == 0 ? 1 : static_cast<double>(rows) / static_cast<double>(passes); }
  Replayed& operator+=(const Replayed& other);   // Sums up several texts.
};

// Replays `output` with a drafter. The drafter's first error ends the replay. A breach of Drafter's rules also ends the replay, with
// InvalidArgument (drafter, pass, found, expected). Breaches are more or deeper nodes than the budget has, a token that is not below
// `vocabulary`, or a root other than the given one.
absl::StatusOr<Replayed> Replay(Drafter& drafter, absl::Span<const TokenId> prompt, absl::Span<const TokenId> output,
                                const DraftBudget& budget, int vocabulary = std::numeric_limits<int>::max());

}  // namespace tessera
