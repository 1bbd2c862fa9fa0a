#include "tessera/spec/policies/ranked_trees.h"

#include <algorithm>
#include <cstddef>

#include "tessera/base/status_macros.h"
#include "tessera/spec/policies/fixed_trees.h"

namespace tessera {
namespace {

// Returns the `most` likeliest children of a level, with at most `per_node` children of each node.
std::vector<int> NextLevel(const DraftPool& pool, absl::Span<const int> level, size_t per_node, size_t most) {
  std::vector<int> next;
  for (const int node : level) {
    const std::vector<int>& children = pool.children(node);
    next.insert(next.end(), children.begin(), children.begin() + static_cast<std::ptrdiff_t>(std::min(children.size(), per_node)));
  }
  std::stable_sort(next.begin(), next.end(), [&](int a, int b) { return pool.reached(a) > pool.reached(b); });
  next.resize(std::min(next.size(), most));
  return next;
}

double SumReached(const DraftPool& pool, absl::Span<const int> nodes) {
  double sum = 0;
  for (const int node : nodes) sum += pool.reached(node);
  return sum;
}

}  // namespace

absl::StatusOr<std::vector<int>> OptTree::Grow(const DraftBudget& budget, DraftPool& pool) {
  const int most = std::min(options_.nodes, budget.max_nodes), depth = std::min(options_.depth, budget.max_depth);
  std::vector<int> level = {TokenTree::kRoot};
  double before = 0;
  for (int d = 0; most > 0 && d < depth && !level.empty(); ++d) {
    RETURN_IF_ERROR(pool.Expand(level));
    const double sum = SumReached(pool, Likeliest(pool, most));
    if (sum - before <= options_.threshold) break;
    before = sum;
    level = NextLevel(pool, level, static_cast<size_t>(most), static_cast<size_t>(most));
  }
  return Likeliest(pool, most);
}

absl::StatusOr<std::vector<int>> Eagle2Tree::Grow(const DraftBudget& budget, DraftPool& pool) {
  const auto width = static_cast<size_t>(options_.width);
  const int most = std::min(options_.nodes, budget.max_nodes), depth = std::min(options_.depth + 1, budget.max_depth);
  std::vector<int> level = {TokenTree::kRoot};
  for (int d = 0; most > 0 && d < depth && !level.empty(); ++d) {
    RETURN_IF_ERROR(pool.Expand(level));
    level = NextLevel(pool, level, width, width);
  }
  std::vector<int> nodes = Likeliest(pool, pool.tree().size());
  std::erase_if(nodes, [&](int node) {   // The pool may keep more candidates than this rule sees.
    const std::vector<int>& sisters = pool.children(pool.tree()[node].parent);
    return static_cast<size_t>(std::find(sisters.begin(), sisters.end(), node) - sisters.begin()) >= width;
  });
  nodes.resize(std::min(nodes.size(), static_cast<size_t>(most)));
  return nodes;
}

}  // namespace tessera
