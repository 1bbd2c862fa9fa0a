// Learns how far a draft model's probabilities can be trusted. A table compares expected with observed acceptance.
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
// candidates, one per depth. A depth that was never seen takes the share of all depths. f corrects an error that rho cannot: a greedy
// sequence goes to the draft's likeliest token far more often than the draft's probability says, and to the second far less. f is how often
// guesses of this rank and about this probability came true, divided by how often rho q expected that; f is 1 at first. A never puts a
// candidate before one that is likelier by the draft. The candidates of a node have at most 1 together. The results depend on the learnt
// outcomes alone. Thread-compatible.
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
    // Lower bound of rho, and of rho f, so that a draft that fails for long is tried again. In (0, 1].
    double least = 0.2;
  };
  // REQUIRES: options in their ranges.
  explicit Reliability(const Options& options);

  // depth: of the candidates, 1 for children of the root. REQUIRES: depth >= 1.
  double rho(int depth) const;
  // Returns A of each candidate. REQUIRES: the likeliest first.
  absl::InlinedVector<float, 8> Chances(const TopTokens& said, int depth) const;

  // Learns from a node that the sequence came to and that has candidates. Call once per such node, also for the node where verification
  // stopped. rank: the next token's among the candidates; TokenTree::kNone if no candidate matches.
  void Learn(int depth, const TopTokens& said, int rank);

 private:
  static constexpr int kDepths = 8;   // Deeper ones share the last.
  struct Share {
    double value = 1;
    bool known = false;
  };
  // The newest guesses of a rank and of about the same probability: the sum that rho q expected, and how many came true.
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
    double sum = 0;                   // The sum of the expected probabilities.
    double expected() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    double observed() const { return count == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(count); }
  };

  // Adds a guess whose parent came true. REQUIRES: 0 <= expected <= 1.
  void Add(double expected, bool accepted);
  ReliabilityTable& operator+=(const ReliabilityTable& other);

  absl::Span<const Bin> bins() const { return bins_; }
  int64_t count() const;
  // Returns the mean difference between expected and observed, weighted by the guesses in each bin; 0 without any.
  double Error() const;

 private:
  std::array<Bin, kBins> bins_;
};

}  // namespace tessera
