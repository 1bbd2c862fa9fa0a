// How far a draft model's probabilities can be trusted, learnt from what came; and a table of what was expected beside what came.
//
//   Reliability reliability({});
//   reliability.Chance(0.8f, /*depth=*/1);            // 0.8: trusted at first
//   reliability.Learn(/*depth=*/1, /*hit=*/false);    // the next token was not among the draft's candidates
//   reliability.Chance(0.8f, 1);                      // 0.76
//
//   ReliabilityTable table;
//   table.Add(/*expected=*/0.76, /*accepted=*/true);
//   table.Error();                                    // how far expected and observed are apart, on average
//
// The rule of Lever (section 4.2), which leaves A open: A(q) = rho q, where rho is the moving share of nodes whose next token was among
// their candidates. It keeps the order of candidates. One rho for each depth; a depth that was never seen takes that of all.
// Depends on what was learnt alone. Thread-compatible.
#pragma once

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class Reliability {
 public:
  struct Options {
    double new_weight = 0.05;   // The last node's. In (0, 1].
    double least = 0.2;         // Rho falls no further, so that a draft which fails for long is tried again. In (0, 1].
  };
  // REQUIRES: options in their ranges.
  explicit Reliability(const Options& options);

  // depth: of the candidates, 1 for those after the root. REQUIRES: depth >= 1.
  double rho(int depth) const;
  float Chance(float probability, int depth) const { return static_cast<float>(rho(depth)) * probability; }

  // For every node that the text came to and that has candidates, the one where verification stopped included.
  void Learn(int depth, bool hit);

 private:
  static constexpr int kDepths = 8;   // Deeper ones share the last.
  struct Share {
    double value = 1;
    bool known = false;
  };
  void Add(bool hit, Share& share) const;

  const Options options_;
  Share of_all_;
  std::array<Share, kDepths> of_depth_;
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
