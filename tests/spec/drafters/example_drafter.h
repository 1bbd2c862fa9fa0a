// The drafter of docs/speculation.md, which links here: drafts what came after each token the last time.
//
//   FollowerDrafter drafter;
//   drafter.Begin({1, 2, 3, 1});                          // 2 came after 1, 3 after 2, 1 after 3
//   drafter.Propose({.max_nodes = 4, .max_depth = 4}, tree);   // 2 3 1 2
#pragma once

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class FollowerDrafter : public Drafter {
 public:
  absl::string_view name() const override { return "follower"; }

  void Begin(absl::Span<const TokenId> text) override {
    next_.clear();
    last_ = text.front();
    Learn(text.subspan(1));
  }

  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    int node = TokenTree::kRoot;
    for (int i = 0; i < std::min(budget.max_nodes, budget.max_depth); ++i) {
      const auto found = next_.find(tree[node].token);
      if (found == next_.end()) break;
      node = tree.Add(node, found->second, /*probability=*/0.5f);
    }
    return absl::OkStatus();
  }

  void Commit(const TokenTree& tree, const Verdict& verdict) override { Learn(verdict.emitted); }

  int64_t bytes() const override { return static_cast<int64_t>(next_.capacity() * (sizeof(std::pair<TokenId, TokenId>) + 1)); }

 private:
  void Learn(absl::Span<const TokenId> tokens) {
    for (const TokenId token : tokens) next_[std::exchange(last_, token)] = token;
  }

  TokenId last_ = 0;
  absl::flat_hash_map<TokenId, TokenId> next_;
};

}  // namespace tessera
