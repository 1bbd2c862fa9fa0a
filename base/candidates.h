// Candidates for the next token, in the one rank order that all code uses, and a fast selection of the first `count` in rank.
//
//   TopCandidates top(40);
//   top.Add(/*first=*/0, chunk);                      // logits of tokens 0, 1, ...; further chunks in the order of tokens
//   std::vector<Candidate> ranked = top.Take();       // the 40 first in rank, in order
//
// Once good tokens are found, nearly every later chunk has no better token; such a chunk costs one vector comparison per four logits.
// Chunks of 64 to 256 logits are good.
//
// Threads: TopCandidates is thread-compatible; the functions are pure.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"

namespace tessera {

struct Candidate {
  float logit;
  TokenId id;
};

// Returns true if `a` ranks before `b`: larger logits first, equal logits by the lower id.
inline bool RanksBefore(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// Returns the largest value, NaN ignored; -infinity if there is no number among the values.
float LargestOf(absl::Span<const float> values);

class TopCandidates {
 public:
  explicit TopCandidates(size_t count);

  // Adds the logits of `first` and the following tokens. REQUIRES: tokens come in ascending order over all calls. NaN and -infinity are no
  // candidates.
  void Add(TokenId first, absl::Span<const float> chunk) {
    if (LargestOf(chunk) > bar_) AddLarger(first, chunk);
  }
  // Returns at most `count` candidates in rank order. The last call on the object.
  std::vector<Candidate> Take();

 private:
  void AddLarger(TokenId first, absl::Span<const float> chunk);

  const size_t count_;
  std::vector<Candidate> heap_;   // A heap; the top is the last in rank.
  float bar_;                     // Tokens come by ascending id, so a logit equal to the bar ranks after all candidates in the heap.
};

}  // namespace tessera
