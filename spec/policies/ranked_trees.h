// Trees that are the best of a pool for a number of nodes, without regard to the cost of verifying: OPT-Tree and EAGLE-2.
//
//   OptTree opt({.nodes = 50, .threshold = 0.5});
//   Eagle2Tree eagle({.width = 10, .depth = 7, .nodes = 59});
//   ASSIGN_OR_RETURN(const std::vector<int> nodes, eagle.Grow({.max_nodes = 59}, pool));
//
// Both expand level by level, each level in one pass. Neither sees more candidates of a node than the pool keeps. Threads: as a TreePolicy.
#pragma once

#include <vector>

#include "tessera/spec/policies/tree_policy.h"

namespace tessera {

// OPT-Tree (Wang et al. 2025): the `nodes` likeliest of each level are expanded. E is the sum of the probabilities of the `nodes` likeliest
// of all levels. Once a level adds no more than `threshold` to E, or at depth `depth`, the likeliest are the tree.
class OptTree : public TreePolicy {
 public:
  struct Options {
    int nodes = 50;
    double threshold = 0.5;
    int depth = 10;
  };
  explicit OptTree(const Options& options) : options_(options) {}
  absl::string_view name() const override { return "opt_tree"; }
  int candidates() const override { return 10; }   // Published: as many as `nodes`; later ones hardly ever count.
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;

 private:
  const Options options_;
};

// EAGLE-2 (Li et al. 2024): the root gets `width` children. Then, `depth` times, the `width` likeliest nodes of the last level are expanded
// to `width` children each. The `nodes` likeliest of all are the tree: 60 rows with the root, as published.
class Eagle2Tree : public TreePolicy {
 public:
  struct Options {
    int width = 10;
    int depth = 7;
    int nodes = 59;
  };
  explicit Eagle2Tree(const Options& options) : options_(options) {}
  absl::string_view name() const override { return "eagle2"; }
  int candidates() const override { return options_.width; }
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;

 private:
  const Options options_;
};

}  // namespace tessera
