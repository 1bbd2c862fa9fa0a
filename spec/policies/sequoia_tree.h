// A tree whose shape follows from two numbers: how often the first, the second, ... child of a node comes, and the cost of rows. The draft
// only fills the shape with tokens (Sequoia: Chen et al. 2024).
//
//   SequoiaTree sequoia({.costs = {.profile = &costs}});
//   ASSIGN_OR_RETURN(const std::vector<int> nodes, sequoia.Grow({.max_nodes = 31}, pool));
//   sequoia.Learn(pool.Follow(verdict.emitted));             // children of which rank come
//
//   BestShapes shapes({0.6, 0.2}, /*rows=*/8, /*levels=*/4);   // by dynamic programming
//   shapes.Tokens(4, 3);                                     // 2.16: what the best tree of 4 rows on 3 levels gives
//   shapes.Shape(4, 3).children;                             // {{1, 2}, {3}, {}, {}}: of each row
//
// T[m][l][b] is the tokens of the best tree of m rows on at most l levels whose root has b children. T follows from the tokens of the last
// child's subtree, for each size of the subtree. Size and depth are chosen for the least time per token of the draft's passes, one per
// level below the root, and a pass of the target. Shares of ranks are counted at every node that the sequence comes to, and old counts
// fade.
// Threads: as a TreePolicy.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/spec/policies/tree_policy.h"

namespace tessera {

class BestShapes {
 public:
  struct Tree {
    std::vector<std::vector<int>> children = {};   // [row], level by level; the root is row 0. A child's place is its rank.
  };
  // shares[k]: how often the child of rank k comes, each in [0, 1]. Takes some rows * rows * levels * ranks steps.
  // REQUIRES: rows >= 1, levels >= 1, and at most 256 rows, 64 levels and 64 shares.
  BestShapes(std::vector<double> shares, int rows, int levels);

  // Returns the tokens of the best tree, the root's own token included. 0: there is no such tree. REQUIRES: 1 <= rows, 1 <= levels, at most
  // the constructor's.
  double Tokens(int rows, int levels) const;
  // Returns the best tree. REQUIRES: Tokens(rows, levels) > 0.
  Tree Shape(int rows, int levels) const;

 private:
  struct Cell {
    double tokens = 0;      // 0: there is no such tree.
    int last_rows = 0;      // Rows of the last child's subtree.
  };
  size_t Place(int rows, int levels) const {
    return static_cast<size_t>(rows) * static_cast<size_t>(levels_ + 1) + static_cast<size_t>(levels);
  }
  size_t Place(int rows, int levels, int children) const {
    return Place(rows, levels) * (shares_.size() + 1) + static_cast<size_t>(children);
  }
  Cell& at(int rows, int levels, int children) { return cells_[Place(rows, levels, children)]; }
  const Cell& at(int rows, int levels, int children) const { return cells_[Place(rows, levels, children)]; }
  int BestChildren(int rows, int levels) const;
  void Fill(int rows, int levels);
  // Returns the rows of the subtrees of a root's children, in the children's order.
  std::vector<int> Subtrees(int rows, int levels) const;

  const std::vector<double> shares_;
  const int levels_;
  std::vector<Cell> cells_;    // [rows][levels][children].
  std::vector<double> best_;   // [rows][levels]: over all numbers of children.
};

class SequoiaTree : public TreePolicy {
 public:
  struct Options {
    TreeCosts costs = {};
    int nodes = 64;
    int depth = 12;      // Below the root.
    int branches = 8;    // Children of a node.
  };
  explicit SequoiaTree(const Options& options);

  absl::string_view name() const override { return "sequoia"; }
  int candidates() const override { return options_.branches; }
  // Returns no nodes while the costs are unknown.
  absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) override;
  void Learn(absl::Span<const DraftPool::Step> steps) override;

  double share(int rank) const;

 private:
  // Returns the shape of the least time per token. Returns the last shape again if little was learnt since then and the room is the same.
  const BestShapes::Tree& Shape(const DraftBudget& budget, const DraftPool& pool);

  const Options options_;
  std::vector<double> hits_;   // [rank], fading.
  double seen_ = 0;
  int learnt_ = 0;             // Steps since the shape was computed.
  DraftBudget room_ = {};      // The shape was computed for this room.
  BestShapes::Tree shape_;
};

}  // namespace tessera
