// Tokens that may come next, in the one order by which all code ranks them; and a fast way to find the first of many.
//
//   TopCandidates top(40);
//   top.Add(/*first=*/0, chunk);                      // logits of tokens 0, 1, ...; further chunks in the order of tokens
//   std::vector<Candidate> ranked = top.Take();       // the 40 first in rank, in order
//
// Once good tokens are found, nearly every later chunk has no better one, and then costs one comparison of vectors for four logits. Chunks
// of 64 to 256 logits are good. Thread-compatible; the functions are pure.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"

namespace tessera {

struct Candidate {
  float logit;
  TokenId id;
};

// Larger logits first, equal ones by the lower id.
inline bool RanksBefore(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// -infinity for values without a number among them.
float LargestOf(absl::Span<const float> values);

class TopCandidates {
 public:
  explicit TopCandidates(size_t count);

  // The logits of `first` and the tokens after it, all after those before. NaN and -infinity are no candidates.
  void Add(TokenId first, absl::Span<const float> chunk) {
    if (LargestOf(chunk) > bar_) AddLarger(first, chunk);
  }
  // At most `count`, in rank order. Ends it.
  std::vector<Candidate> Take();

 private:
  void AddLarger(TokenId first, absl::Span<const float> chunk);

  const size_t count_;
  std::vector<Candidate> heap_;   // Its top is the last in rank.
  float bar_;                     // Tokens come by ascending id, so what only equals the bar ranks after all that are in.
};

}  // namespace tessera
