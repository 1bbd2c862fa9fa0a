// Grows the tree that is expected to give the most tokens per second (Lever, section 4.2, algorithm 1), whatever its size.
//
//   GainCostTree lever({.costs = {.profile = &costs}});
//   DraftPool pool(root, expander, {.reliability = &reliability});
//   ASSIGN_OR_RETURN(const std::vector<int> nodes, lever.Grow({.max_nodes = 31}, pool));
//   lever.expected().tokens / lever.expected().seconds;       // of a cycle with this tree
//
// Gain G: one token and, for each node, the probability that the text comes to it. Cost L: what was drafted, reading that nothing hides,
// a pass over so many rows and leaves, and the head over the rows that are reached, or over all at once if that is less. Nodes are added
// by marginal gain per marginal cost.
//
// The paper stops at the first node whose rate is not above G / L. Where the cost has steps (a vector, a tile, a pass that is no longer
// hidden by reading) the first node beyond a step pays for all of it, so here adding goes on, and the best of all trees on the way is
// taken: each block of nodes is weighed as a whole. `blocks = false` is the paper's rule.
//
// When to expand, the paper leaves open ("if v is expandable"). Here a node that may be expanded stands with rows that expanding it may
// bring, which pay for drafting as well. If the best tree has such rows, the nodes that they stand for are expanded, and the tree is sought
// again; if it has none, it is the answer. What they bring is what the two likeliest candidates were worth on average; `optimistic`: all
// that is possible, so that without a price of leaves no tree is better, if drafting takes no time.
//
// How many are expanded in one pass: as many as give the most probability for its time (DraftPool::BatchOf). So narrow levels go row by
// row, which wastes none, and wide ones together, where a pass over several rows takes less than several passes.
//
// Nothing is drafted while nothing is known of the costs. If nothing was worth drafting for kTrial steps, the root is expanded all the
// same, or a draft that became better would never be known. Threads: as a TreePolicy.
#pragma once

#include <vector>

#include "tessera/spec/policies/tree_policy.h"

namespace tessera {

class GainCostTree : public TreePolicy {
 public:
  static constexpr int kTrial = 16;

  struct Options {
    TreeCosts costs = {};
    bool blocks = true;
    bool optimistic = false;
  };
  explicit GainCostTree(const Options& options) : options_(options) {}

  absl::string_view name() const override { return "lever"; }
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;

  // What a cycle with the last tree is expected to give and take, drafting included.
  struct Expected {
    double tokens = 1;
    double seconds = 0;
  };
  const Expected& expected() const { return expected_; }

 private:
  absl::Status Expand(const std::vector<int>& waiting, DraftPool& pool);

  const Options options_;
  Expected expected_;
  double share_ = 1;     // The mean of what a node's two first children have together, by rho.
  int width_ = 1;        // Nodes of the last pass of the draft.
  int idle_ = 0;         // Steps in a row in which nothing was expanded.
};

}  // namespace tessera
