// Grows the tree, of any size, that is expected to give the most tokens per second (Lever, section 4.2, algorithm 1).
//
//   GainCostTree lever({.costs = {.profile = &costs}});
//   DraftPool pool(root, expander, {.reliability = &reliability});
//   ASSIGN_OR_RETURN(const std::vector<int> nodes, lever.Grow({.max_nodes = 31}, pool));
//   lever.expected().tokens / lever.expected().seconds;       // of a cycle with this tree
//
// Gain G: one token and, for each node, the probability that the sequence comes to the node. Cost L is the sum of four parts: drafting,
// reading that nothing hides, a pass over the tree's rows and leaves, and the head. The head counts for the rows that are reached, or for
// all rows at once if that is less. Nodes are added by marginal gain per marginal cost.
//
// The paper stops at the first node whose rate is not above G / L. Here adding goes on, and the best of all trees on the way is taken. The
// reason is that the cost may have steps: a vector, a tile, a pass that is no longer hidden by reading. The first node beyond a step pays
// for the whole step, so each block of nodes is weighed as a whole. `blocks = false` is the paper's rule.
//
// The paper leaves open when to expand ("if v is expandable"). Here an unexpanded node stands with the rows that expanding may bring; such
// rows pay for drafting as well. If the best tree has such rows, the nodes above them are expanded, and the tree is sought again. If the
// best tree has none, that tree is the answer. Such rows get the moving mean of the summed probability of a node's two likeliest
// candidates. With `optimistic` they get the greatest possible probability. Then, without a price of leaves and with free drafting, no
// other tree is better.
//
// Nodes expanded in one pass: as many as give the most probability per second (DraftPool::BatchOf). So narrow levels go row by row, which
// wastes no row. Wide levels go together, where a pass over several rows takes less than several passes.
//
// Nothing is drafted while the costs are unknown. If nothing was worth drafting for kTrial steps, the root is expanded all the same;
// otherwise a draft that became better would never be noticed.
// Threads: as a TreePolicy.
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

  // Expected tokens and seconds of a cycle with the last tree, drafting included.
  struct Expected {
    double tokens = 1;
    double seconds = 0;
  };
  const Expected& expected() const { return expected_; }

 private:
  absl::Status Expand(const std::vector<int>& waiting, DraftPool& pool);

  const Options options_;
  Expected expected_;
  double share_ = 1;     // The mean probability of a node's two first children together, by rho.
  int width_ = 1;        // Nodes of the last pass of the draft.
  int idle_ = 0;         // Steps in a row without an expansion.
};

}  // namespace tessera
