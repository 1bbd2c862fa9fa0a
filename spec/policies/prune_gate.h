// Decides by learnt costs whether to stop a pass half-way and prune a draft. Pruning spares computing. Where the pass waits for reading,
// pruning gains nothing.
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
// by the learnt profile. In the profile, reading is a part of every pass: where reading hides computing, more rows cost nothing more, and
// nothing is saved. Pruning is worth it if saved(d) exceeds the sum of three costs. The first is the predictor's time. The second is the
// loss: the share of prunings after which the sequence went to a pruned node, times the time of a token. The third is 1 % of the pass;
// below that an estimate is mostly error. d is the share of rows that went lately, at first a half. A pruning that does not happen teaches
// nothing. So where only that share or the losses speak against pruning, one of 64 passes tries again. Thread-compatible.
#pragma once

#include <cstdint>

#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// The effect of pruning.
struct PruneReport {
  int64_t passes = 0;     // Stopped for a predictor.
  int64_t rows = 0;       // Rows of the drafts in these passes, roots included.
  int64_t dropped = 0;    // Pruned rows.
  int64_t lost = 0;       // Passes after which the sequence went to a pruned node.
  double seconds = 0;     // For scores and dropping.
  void Add(const PruneReport& more);
};

class PruneGate {
 public:
  struct Question {
    CostProfile::Shape all = {};     // The trees of the pass.
    int rows = 1;                    // This sequence's, its root included.
    double upper_share = 0;          // (L - l) / L.
    double token_seconds = 0;        // Seconds per token of this sequence.
  };
  // Returns whether pruning is worth its cost; false while the costs know no step.
  bool IsWorth(const Question& question, const CostProfile& costs);
  // Learns the result of a pruning, also of a refused one: 0 dropped.
  void Learn(int rows, int dropped, double seconds);
  // Called after Learn, once the tokens are known.
  void LearnLoss(bool lost);

  const PruneReport& report() const { return report_; }

 private:
  double share_ = 0.5;     // Mean share of pruned rows.
  double seconds_ = 0;     // Per pruning; 0 before the first.
  double lost_ = 0;        // Share of prunings that cost a token.
  int turned_down_ = 0;    // Refusals by share or losses since the last trial.
  PruneReport report_;
};

}  // namespace tessera
