#include "tessera/apps/common/spec_bench_drafters.h"

#include <algorithm>

namespace tessera {
namespace {

int LongestPath(const DraftBudget& budget) { return std::min(budget.max_nodes, budget.max_depth); }

}  // namespace

absl::Status OracleDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  int node = TokenTree::kRoot;
  const size_t end = std::min(text_.size(), emitted_ + LongestPath(budget));
  for (size_t i = emitted_; i < end; ++i) node = tree.Add(node, text_[i], 0.99f);
  return absl::OkStatus();
}

absl::Status WrongDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  int node = TokenTree::kRoot;
  for (int i = 0; i < LongestPath(budget); ++i) node = tree.Add(node, (tree[node].token + 1) % vocabulary_, 0.9f);
  return absl::OkStatus();
}

}  // namespace tessera
