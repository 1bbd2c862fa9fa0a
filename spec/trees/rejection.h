// Speculative sampling by rejection, for drafts that are sampled themselves: the sequence has the target's distribution for every draft.
//
//   const DrawKey key = {.seed = 7, .stream = 0, .position = 120};              // of the token that is drafted
//   const DrawnChildren drawn = DrawChildren(candidates, {.temperature = 0.8, .children = 2}, key);
//   ... verify; `target` are the target's probabilities after the same node ...
//   ASSIGN_OR_RETURN(const TokenId token, RejectionToken(target, drawn, key));
//   verification.Next({token});                                                 // goes down to a child that has it
//
// The default is another rule (verify.h): the sampler chooses a token, and the token is looked up among the children. That rule gives the
// bits of plain decoding, and is as good for children that are not sampled. The rule here accepts a sampled draft more often, but gives
// other tokens than plain decoding with the same seed. The distribution is the same.
//
// Chain: a token x that was drawn from q is accepted with probability min(1, p(x) / q(x)). Otherwise the next draw is from the residual
// max(0, p - q) (Leviathan et al. 2023, Chen et al. 2023). Tree: children are drawn from q without replacement. Each child is tested
// against the parts of p and q that the children before left (recursive rejection: Sequoia, Chen et al. 2024).
//
// All drawn tokens are tested in the order of the draws, even tokens without a row in the tree. Leaving out a drawn token because of its
// value or probability would change the distribution. Tree tokens that were not drawn are found by verification.Next, as in the other rule.
//
// Draws are functions of seed, stream and position (base/random.h). The draft's draws and the test's draws are unrelated. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

struct DrawKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
  int64_t position = 0;    // In the sequence, of the token that comes next.
};

struct DraftSampling {
  double temperature = 1;  // More than 0.
  int children = 1;        // Drawn after each node, at least 1.
};

struct DrawnChildren {
  TopTokens distribution = {};                  // The distribution of the draws: tokens and their probabilities, 1 together.
  std::vector<TokenId> tokens = {};    // In the order of the draws, each once.
};

// Draws from the candidates alone, without replacement; all of them if fewer than `children`. Tokens of probability 0 are never drawn.
// REQUIRES: candidates' tokens differ, their probabilities are finite and not negative; sampling in its ranges.
DrawnChildren DrawChildren(absl::Span<const TopToken> candidates, const DraftSampling& sampling, const DrawKey& key);

// Returns the next token of the sequence. target: [vocabulary], after temperature and all filters; the sum need not be 1. drawn: after the
// same node, or none. InvalidArgument (found, expected) if the target is no distribution: empty, negative, not finite, or 0 together.
// InvalidArgument also if a drawn token is outside of the vocabulary, stands twice, or is not of its own distribution.
absl::StatusOr<TokenId> RejectionToken(absl::Span<const float> target, const DrawnChildren& drawn, const DrawKey& key);

}  // namespace tessera
