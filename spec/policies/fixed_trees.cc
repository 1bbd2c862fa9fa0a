#include "tessera/spec/policies/fixed_trees.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Sorts by falling probability. A child is no likelier than the parent, and comes after the parent if equal.
void SortByReached(const DraftPool& pool, std::vector<int>& nodes) {
  std::sort(nodes.begin(), nodes.end(), [&](int a, int b) {
    return pool.reached(a) != pool.reached(b) ? pool.reached(a) > pool.reached(b) : a < b;
  });
}

}  // namespace

std::vector<int> Likeliest(const DraftPool& pool, int most, double threshold) {
  std::vector<int> nodes;
  for (int node = 1; node < pool.tree().size(); ++node) {
    if (pool.reached(node) >= threshold) nodes.push_back(node);
  }
  SortByReached(pool, nodes);
  nodes.resize(std::min(nodes.size(), static_cast<size_t>(std::max(most, 0))));
  return nodes;
}

absl::StatusOr<std::vector<int>> ChainTree::Grow(const DraftBudget& budget, DraftPool& pool) {
  std::vector<int> nodes;
  int node = TokenTree::kRoot;
  for (int length = 0; length < std::min({options_.tokens, budget.max_nodes, budget.max_depth}); ++length) {
    RETURN_IF_ERROR(pool.Expand({node}));
    if (pool.children(node).empty()) break;
    node = pool.children(node).front();
    if (pool.tree()[node].probability < options_.least) break;
    nodes.push_back(node);
  }
  return nodes;
}

absl::StatusOr<std::vector<int>> ThresholdTree::Grow(const DraftBudget& budget, DraftPool& pool) {
  if (budget.max_nodes <= 0 || budget.max_depth <= 0) return std::vector<int>();
  RETURN_IF_ERROR(pool.Expand({TokenTree::kRoot}));
  while (true) {
    const std::vector<int> nodes = Likeliest(pool, budget.max_nodes, options_.threshold);
    std::vector<int> waiting;
    for (const int node : nodes) {
      if (!pool.expanded(node) && pool.tree()[node].depth < budget.max_depth) waiting.push_back(node);
    }
    // A node that is no likelier than the last of `nodes` has no likelier children either.
    const bool full = static_cast<int>(nodes.size()) == budget.max_nodes;
    if (waiting.empty() || (full && pool.reached(waiting.front()) <= pool.reached(nodes.back()))) return nodes;
    RETURN_IF_ERROR(pool.Expand(absl::MakeConstSpan(waiting).first(static_cast<size_t>(pool.BatchOf(waiting)))));
  }
}

absl::StatusOr<std::vector<int>> WidthsTree::Grow(const DraftBudget& budget, DraftPool& pool) {
  std::vector<int> nodes, level = {TokenTree::kRoot};
  const size_t depth = std::min(options_.widths.size(), static_cast<size_t>(std::max(budget.max_depth, 0)));
  for (size_t d = 0; d < depth && static_cast<int>(nodes.size()) < budget.max_nodes; ++d) {
    RETURN_IF_ERROR(pool.Expand(level));
    std::vector<int> next;
    for (const int node : level) {
      const std::vector<int>& children = pool.children(node);
      const size_t width = std::min(children.size(), static_cast<size_t>(options_.widths[d]));
      next.insert(next.end(), children.begin(), children.begin() + static_cast<std::ptrdiff_t>(width));
    }
    SortByReached(pool, next);
    next.resize(std::min(next.size(), static_cast<size_t>(budget.max_nodes) - nodes.size()));
    nodes.insert(nodes.end(), next.begin(), next.end());
    level = std::move(next);
    if (level.empty()) break;
  }
  return nodes;
}

}  // namespace tessera
