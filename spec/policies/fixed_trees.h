// Trees by rules that ignore costs: chains, all tokens that are likely enough, and a fixed number of children per level. Lever's tree is
// compared with these trees.
//
//   ChainTree chain({.tokens = 8});                    // "Chain-SD" of Lever, section 5.1
//   ThresholdTree edgellm({.threshold = 0.1});         // as EdgeLLM's, see below
//   WidthsTree specinfer({.widths = {4, 2, 1}});       // 4 children of the root, 2 of each of these, 1 of each of those
//   ASSIGN_OR_RETURN(const std::vector<int> nodes, chain.Grow({.max_nodes = 31}, pool));
//
// If there is no room for the whole tree, the nodes that the sequence reaches most probably are taken. Threads: as a TreePolicy.
#pragma once

#include <algorithm>
#include <vector>

#include "tessera/spec/policies/tree_policy.h"

namespace tessera {

// Returns the pool's nodes with the most probability, at most `most`, parents first. Nodes below the threshold are not taken.
std::vector<int> Likeliest(const DraftPool& pool, int most, double threshold = 0);

// The likeliest token again and again (Leviathan et al. 2023), until the probability is less than `least`.
class ChainTree : public TreePolicy {
 public:
  struct Options {
    int tokens = 8;
    double least = 0;
  };
  explicit ChainTree(const Options& options) : options_(options) {}
  absl::string_view name() const override { return "chain"; }
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;

 private:
  const Options options_;
};

// Branches go on as long as the sequence reaches a branch with at least this probability; once none is left, the tree is verified. In
// EdgeLLM (Xu et al. 2024) branches advance at a pace set by their probability, and EdgeLLM verifies as soon as the draft seems to be
// wrong. This is that rule with one fixed threshold for both. EdgeLLM's other part, drafting on while the target verifies, is not in the
// tree.
class ThresholdTree : public TreePolicy {
 public:
  struct Options {
    double threshold = 0.1;   // More than 0.
  };
  explicit ThresholdTree(const Options& options) : options_(options) {}
  absl::string_view name() const override { return "edgellm"; }
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;

 private:
  const Options options_;
};

// The widths[d] likeliest children of every node at depth d (SpecInfer's expansion, Miao et al. 2024).
class WidthsTree : public TreePolicy {
 public:
  struct Options {
    std::vector<int> widths = {1, 1, 3, 1, 1, 1, 1, 1};
  };
  // REQUIRES: some widths, each at least 1.
  explicit WidthsTree(const Options& options) : options_(options) {}
  absl::string_view name() const override { return "specinfer"; }
  int candidates() const override { return *std::max_element(options_.widths.begin(), options_.widths.end()); }
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;

 private:
  const Options options_;
};

}  // namespace tessera
