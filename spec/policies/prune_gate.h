// Whether it pays to stop a pass half-way and prune a draft, by learnt costs: pruning spares computing, which is worth nothing where the
// pass waits for reading.
//
//   PruneGate gate;
//   if (gate.IsWorth({.all = {.rows = 24, .leaves = 9}, .rows = 24, .upper_share = 0.4, .token_seconds = 0.1}, costs)) {
//     ... scores, PruneTree: 11 rows went, and all of it took 0.3 ms ...
//     gate.Learn(/*rows=*/24, /*dropped=*/11, /*seconds=*/3e-4);
//     gate.LearnLoss(verdict_ended_where_a_pruned_node_was);
//   }
//   gate.report();
//
// The rule. If d rows go after l of L layers, the pass is spared
//
//   saved(d) = (L - l) / L * (PassSeconds(all rows) - PassSeconds(all rows but d))
//
// by the learnt profile, in which reading is a part of every pass: where that hides computing, more rows cost nothing more, and nothing is
// saved. It is worth it if saved(d) exceeds what the predictor takes, what is lost (the share of prunings after which the text went where
// a pruned node was, times the time of a token), and 1 % of the pass, below which an estimate is mostly error. d is the share of rows that
// went lately, at first a half. What is not done is not learnt: where only that share or the losses speak against it, one of 64 passes
// tries again. Thread-compatible.
#pragma once

#include <cstdint>

#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// What pruning did.
struct PruneReport {
  int64_t passes = 0;     // That stopped for a predictor,
  int64_t rows = 0;       // the rows of their drafts, roots included,
  int64_t dropped = 0;    // and those that went.
  int64_t lost = 0;       // Passes after which the text went where a pruned node was.
  double seconds = 0;     // For scores and dropping.
  void Add(const PruneReport& more);
};

class PruneGate {
 public:
  struct Question {
    CostProfile::Shape all = {};     // The trees of the pass.
    int rows = 1;                    // This text's, its root included.
    double upper_share = 0;          // (L - l) / L.
    double token_seconds = 0;        // What a token of this text takes.
  };
  // False while costs know no step.
  bool IsWorth(const Question& question, const CostProfile& costs);
  // What a pruning came to, also one that was refused: 0 dropped.
  void Learn(int rows, int dropped, double seconds);
  // After it, once the text is known.
  void LearnLoss(bool lost);

  const PruneReport& report() const { return report_; }

 private:
  double share_ = 0.5;     // How many rows went.
  double seconds_ = 0;     // Per pruning; 0 before the first.
  double lost_ = 0;        // Share of prunings that cost a token.
  int turned_down_ = 0;    // For what may have changed since.
  PruneReport report_;
};

}  // namespace tessera
