// Speculative sampling by rejection, for drafts that are sampled themselves: a text's distribution is the target's, whatever the draft's.
//
//   const DrawKey key = {.seed = 7, .stream = 0, .position = 120};              // of the token that is drafted
//   const DrawnChildren drawn = DrawChildren(candidates, {.temperature = 0.8, .children = 2}, key);
//   ... verify; `target` are the target's probabilities after the same node ...
//   ASSIGN_OR_RETURN(const TokenId token, RejectionToken(target, drawn, key));
//   verification.Next({token});                                                 // goes down to a child that has it
//
// The default is another rule (verify.h): the sampler chooses, and children are looked up. It gives the bits of plain decoding, and is as
// good for children that are not sampled. This rule accepts a sampled draft more often, but gives other tokens than plain decoding would
// with the same seed; their distribution is the same.
//
// Chain: a token x that was drawn from q is accepted with probability min(1, p(x) / q(x)), otherwise the residual max(0, p - q) is what is
// left to draw from (Leviathan et al. 2023, Chen et al. 2023). Tree: children are drawn from q without replacement; each is tested against
// what the ones before it left of p and of q (recursive rejection: Sequoia, Chen et al. 2024).
//
// All that was drawn is tested, in the order in which it was drawn, whether or not the tree has a row for it: to leave out a child by its
// looks alone would change the distribution. Tokens that a tree has but nobody drew are found by verification.Next, as in the other rule.
//
// Draws are functions of seed, stream and position (base/random.h); those of the draft and of the tests are unrelated. Pure.
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
  int64_t position = 0;    // In the text, of the token that comes next.
};

struct DraftSampling {
  double temperature = 1;  // More than 0.
  int children = 1;        // Drawn after each node, at least 1.
};

struct DrawnChildren {
  TopTokens distribution = {};                  // What they were drawn from: tokens and their probabilities, 1 together.
  std::vector<TokenId> tokens = {};    // In the order in which they were drawn, each once.
};

// Draws from the candidates alone, without replacement; all of them if they are fewer. Tokens of probability 0 are never drawn.
// REQUIRES: candidates' tokens differ, their probabilities are finite and not negative; sampling in its ranges.
DrawnChildren DrawChildren(absl::Span<const TopToken> candidates, const DraftSampling& sampling, const DrawKey& key);

// The next token of the text. target: [vocabulary], after temperature and all filters; need not be 1 together. drawn: after the same
// node, or none. InvalidArgument (found, expected) for a target that is no distribution (empty, negative, not finite, 0 together), and for
// drawn tokens that are not of the vocabulary, twice, or not of their own distribution.
absl::StatusOr<TokenId> RejectionToken(absl::Span<const float> target, const DrawnChildren& drawn, const DrawKey& key);

}  // namespace tessera
