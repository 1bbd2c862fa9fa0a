// How far a draft model's probabilities can be trusted, learnt from what came; and a table of what was expected beside what came.
//
//   Reliability reliability({});
//   reliability.Chances(said, /*depth=*/1);                          // 0.8, 0.1: trusted at first
//   reliability.Learn(/*depth=*/1, said, /*rank=*/TokenTree::kNone); // the next token was not among the draft's candidates
//   reliability.rho(1);                                              // 0.95
//   reliability.Chances(said, 1);                                    // less than 0.76 and 0.095
//
//   ReliabilityTable table;
//   table.Add(/*expected=*/0.76, /*accepted=*/true);
//   table.Error();                                    // how far expected and observed are apart, on average
//
// The rule of Lever (section 4.2) leaves A open. Here A = rho f q. Rho is the moving share of nodes whose next token was among their
// candidates, one for each depth; a depth that was never seen takes that of all. f corrects what rho cannot: a greedy text goes to the
// draft's likeliest token far more often than the draft's probability says, and to the second far less. It is how often guesses of this
// rank and about this probability came true, by how often rho q expected it, and 1 at first. A never puts a candidate before one that is
// likelier by the draft, and those of a node have at most 1 together.
// Depends on what was learnt alone. Thread-compatible.
#pragma once

#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"
#include "tessera/spec/trees/token_tree.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

class Reliability {
 public:
  struct Options {
    double new_weight = 0.05;   // The last node's. In (0, 1].
    // Rho falls no further, and neither does rho f, so that a draft which fails for long is tried again. In (0, 1].
    double least = 0.2;
  };
  // REQUIRES: options in their ranges.
  explicit Reliability(const Options& options);

  // depth: of the candidates, 1 for those after the root. REQUIRES: depth >= 1.
  double rho(int depth) const;
  // A of each candidate. REQUIRES: the likeliest first.
  absl::InlinedVector<float, 8> Chances(const TopTokens& said, int depth) const;

  // For every node that the text came to and that has candidates, the one where verification stopped included. rank: the next token's
  // among the candidates; TokenTree::kNone: it is none of them.
  void Learn(int depth, const TopTokens& said, int rank);

 private:
  static constexpr int kDepths = 8;   // Deeper ones share the last.
  struct Share {
    double value = 1;
    bool known = false;
  };
  // The newest guesses of a rank, about as probable: what rho q expected, added up, and how many came true.
  struct Guesses { double expected = 0, came = 0; };
  static constexpr int kRanks = 4, kBins = 4;   // Higher ranks share the last; bins are equally wide.
  Guesses& GuessesOf(size_t rank, float probability);
  const Guesses& GuessesOf(size_t rank, float probability) const { return const_cast<Reliability*>(this)->GuessesOf(rank, probability); }
  void Add(bool hit, Share& share) const;

  const Options options_;
  Share of_all_;
  std::array<Share, kDepths> of_depth_;
  std::array<std::array<Guesses, kBins>, kRanks> guesses_;
};

class ReliabilityTable {
 public:
  static constexpr int kBins = 20;    // Equally wide, over [0, 1].
  struct Bin {
    int64_t count = 0, accepted = 0;
    double sum = 0;                   // What was expected, added up.
    double expected() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    double observed() const { return count == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(count); }
  };

  // A guess whose parent came true. REQUIRES: 0 <= expected <= 1.
  void Add(double expected, bool accepted);
  ReliabilityTable& operator+=(const ReliabilityTable& other);

  absl::Span<const Bin> bins() const { return bins_; }
  int64_t count() const;
  // The mean difference between expected and observed, by the guesses in each bin; 0 without any.
  double Error() const;

 private:
  std::array<Bin, kBins> bins_;
};

}  // namespace tessera
