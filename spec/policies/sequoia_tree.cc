#include "tessera/spec/policies/sequoia_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kMostRows = 256, kMostLevels = 64, kMostShares = 64;
constexpr double kFading = 0.995;       // Per observed node: a count that is 140 nodes old weighs half.
constexpr double kFirstShare = 0.6;     // At first, share of the first child; each next child comes a third as often.
constexpr double kFirstWeight = 8;      // As many nodes.
constexpr int kRecompute = 64;          // Observed nodes between computations of the shape.

}  // namespace

BestShapes::BestShapes(std::vector<double> shares, int rows, int levels) : shares_(std::move(shares)), levels_(levels) {
  CHECK(rows >= 1 && rows <= kMostRows && levels >= 1 && levels <= kMostLevels) << rows << " rows, " << levels << " levels";
  CHECK_LE(shares_.size(), static_cast<size_t>(kMostShares));
  for (const double share : shares_) CHECK(share >= 0 && share <= 1) << "share " << share;
  cells_.resize(static_cast<size_t>(rows + 1) * static_cast<size_t>(levels + 1) * (shares_.size() + 1));
  best_.resize(static_cast<size_t>(rows + 1) * static_cast<size_t>(levels + 1));
  for (int m = 1; m <= rows; ++m) {
    for (int l = 1; l <= levels; ++l) Fill(m, l);
  }
}

// T[1][l][0] = 1. T[m][l][b] = max over y of T[y][l][b - 1] + share[b] * best T[m - y][l - 1]. Rows rise, so both terms are known.
void BestShapes::Fill(int rows, int levels) {
  if (rows == 1) at(1, levels, 0) = {.tokens = 1};
  for (int children = 1; children <= static_cast<int>(shares_.size()); ++children) {
    Cell& cell = at(rows, levels, children);
    for (int others = 1; others < rows && levels > 1; ++others) {
      const double without = at(others, levels, children - 1).tokens, last = Tokens(rows - others, levels - 1);
      if (without == 0 || last == 0) continue;
      const double tokens = without + shares_[static_cast<size_t>(children) - 1] * last;
      if (tokens > cell.tokens) cell = {tokens, rows - others};
    }
  }
  best_[Place(rows, levels)] = at(rows, levels, BestChildren(rows, levels)).tokens;
}

double BestShapes::Tokens(int rows, int levels) const { return best_[Place(rows, levels)]; }

int BestShapes::BestChildren(int rows, int levels) const {
  int best = 0;
  for (int children = 1; children <= static_cast<int>(shares_.size()); ++children) {
    if (at(rows, levels, children).tokens > at(rows, levels, best).tokens) best = children;
  }
  return best;
}

std::vector<int> BestShapes::Subtrees(int rows, int levels) const {
  std::vector<int> sizes;
  for (int children = BestChildren(rows, levels); children > 0; --children) {
    sizes.push_back(at(rows, levels, children).last_rows);
    rows -= sizes.back();
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

BestShapes::Tree BestShapes::Shape(int rows, int levels) const {
  CHECK_GT(Tokens(rows, levels), 0);
  struct Part {
    int rows, levels;
  };
  std::vector<Part> parts = {{rows, levels}};
  Tree tree;
  for (size_t row = 0; row < parts.size(); ++row) {
    const Part part = parts[row];
    std::vector<int>& children = tree.children.emplace_back();
    for (const int size : Subtrees(part.rows, part.levels)) {
      children.push_back(static_cast<int>(parts.size()));
      parts.push_back({size, part.levels - 1});
    }
  }
  return tree;
}

SequoiaTree::SequoiaTree(const Options& options) : options_(options), hits_(static_cast<size_t>(options.branches)) {
  CHECK(options.nodes >= 1 && options.nodes < kMostRows && options.depth >= 1 && options.depth < kMostLevels);
  CHECK(options.branches >= 1 && options.branches <= kMostShares);
}

double SequoiaTree::share(int rank) const {
  double first = kFirstShare;
  for (int i = 0; i < rank; ++i) first /= 3;
  return (hits_[static_cast<size_t>(rank)] + kFirstWeight * first) / (seen_ + kFirstWeight);
}

void SequoiaTree::Learn(absl::Span<const DraftPool::Step> steps) {
  for (const DraftPool::Step& step : steps) {
    for (double& hits : hits_) hits *= kFading;
    seen_ = seen_ * kFading + 1;
    if (step.rank >= 0 && step.rank < options_.branches) hits_[static_cast<size_t>(step.rank)] += 1;
    ++learnt_;
  }
}

const BestShapes::Tree& SequoiaTree::Shape(const DraftBudget& budget, const DraftPool& pool) {
  const DraftBudget room = {.max_nodes = std::min(options_.nodes, budget.max_nodes),
                            .max_depth = std::min(options_.depth, budget.max_depth)};
  if (learnt_ < kRecompute && room.max_nodes == room_.max_nodes && room.max_depth == room_.max_depth) return shape_;
  std::vector<double> shares;
  for (int rank = 0; rank < options_.branches; ++rank) shares.push_back(share(rank));
  const BestShapes shapes(std::move(shares), room.max_nodes + 1, room.max_depth + 1);
  double least = std::numeric_limits<double>::infinity();
  int best_rows = 1, best_levels = 1;
  for (int rows = 1; rows <= room.max_nodes + 1; ++rows) {
    const double verify = options_.costs.io_seconds + options_.costs.profile->PassSeconds({.rows = rows}) +
                          options_.costs.profile->HeadSeconds(1);
    for (int levels = 1; levels <= room.max_depth + 1; ++levels) {
      const double tokens = shapes.Tokens(rows, levels);
      if (tokens == 0 || ((levels - 1) * pool.SecondsOf(1) + verify) / tokens >= least) continue;
      least = ((levels - 1) * pool.SecondsOf(1) + verify) / tokens;
      best_rows = rows;
      best_levels = levels;
    }
  }
  shape_ = shapes.Shape(best_rows, best_levels);
  room_ = room;
  learnt_ = 0;
  return shape_;
}

absl::StatusOr<std::vector<int>> SequoiaTree::Grow(const DraftBudget& budget, DraftPool& pool) {
  std::vector<int> nodes;
  if (budget.max_nodes <= 0 || budget.max_depth <= 0 || !options_.costs.known()) return nodes;
  const BestShapes::Tree& shape = Shape(budget, pool);
  struct Placed {
    int row, node;
  };
  std::vector<Placed> level = {{0, TokenTree::kRoot}};
  while (!level.empty()) {
    std::vector<int> parents;
    for (const Placed& placed : level) {
      if (!shape.children[static_cast<size_t>(placed.row)].empty()) parents.push_back(placed.node);
    }
    if (!parents.empty()) RETURN_IF_ERROR(pool.Expand(parents));
    std::vector<Placed> next;
    for (const Placed& placed : level) {
      const std::vector<int>& rows = shape.children[static_cast<size_t>(placed.row)];
      if (rows.empty()) continue;
      const std::vector<int>& children = pool.children(placed.node);   // May be fewer than the shape has.
      for (size_t rank = 0; rank < std::min(rows.size(), children.size()); ++rank) next.push_back({rows[rank], children[rank]});
    }
    for (const Placed& placed : next) nodes.push_back(placed.node);
    level = std::move(next);
  }
  return nodes;
}

}  // namespace tessera
