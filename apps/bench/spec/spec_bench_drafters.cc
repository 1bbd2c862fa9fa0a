#include "tessera/apps/bench/spec/spec_bench_drafters.h"

#include <algorithm>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

int LongestPath(const DraftBudget& budget) { return std::min(budget.max_nodes, budget.max_depth); }

}  // namespace

void OracleDrafter::Begin(absl::Span<const TokenId> text) {
  emitted_ = 1;
  if (others_ != nullptr) others_->Begin(text);
}

void OracleDrafter::LearnPrompt(int first, absl::Span<const TopTokens> top) {
  if (others_ != nullptr) others_->LearnPrompt(first, top);
}

absl::Status OracleDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  TokenTree drafted(tree[TokenTree::kRoot].token);
  if (others_ != nullptr) RETURN_IF_ERROR(others_->Propose(budget, drafted));
  int node = TokenTree::kRoot, place = TokenTree::kRoot;
  const size_t end = std::min(text_.size(), emitted_ + LongestPath(budget));
  for (size_t i = emitted_; i < end; ++i) {
    if (others_ != nullptr && (place = drafted.Child(place, text_[i])) == TokenTree::kNone) break;
    node = tree.Add(node, text_[i], 0.99f);
  }
  return absl::OkStatus();
}

void OracleDrafter::Commit(const TokenTree& tree, const Verdict& verdict) {
  emitted_ += verdict.emitted.size();
  if (others_ != nullptr) others_->Commit(tree, verdict);
}

int64_t OracleDrafter::bytes() const {
  return static_cast<int64_t>(text_.capacity() * sizeof(TokenId)) + (others_ == nullptr ? 0 : others_->bytes());
}

absl::Status WrongDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  int node = TokenTree::kRoot;
  for (int i = 0; i < LongestPath(budget); ++i) node = tree.Add(node, (tree[node].token + 1) % vocabulary_, 0.9f);
  return absl::OkStatus();
}

}  // namespace tessera
