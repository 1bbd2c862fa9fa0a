// Drafts in a session: a pass over a tree of tokens, of which one path becomes text.
#include <algorithm>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/session.h"
#include "tessera/runtime/test_hooks.h"

namespace tessera {

// For one row there is always room by this: without it plain decoding fails, too, and says why.
int Session::TreeRoom() const {
  const int room = std::min(core_->context() - length(), core_->runner().row_capacity());
  if (room <= 1) return room;
  const EngineCore::Hold hold = core_->AwaitHold();
  return core_->health().ok() ? std::max(1, core_->cache().RoomFor(room)) : 1;
}

// A first child goes on where its parent ends, which copies nothing and keeps slots together; its sisters are forks.
absl::Status Session::PlaceTree(const TokenTree& tree) {
  KvCache& cache = core_->cache();
  node_sequences_.clear();
  for (int node = 0; node < tree.size(); ++node) {
    KvCache::SequenceId sequence = sequence_;
    if (node != TokenTree::kRoot) {
      const int parent_length = length() + tree[node].depth;
      sequence = node_sequences_[tree[node].parent];
      if (cache.Length(sequence) != parent_length) {
        ASSIGN_OR_RETURN(sequence, cache.Fork(sequence, parent_length));
      }
    }
    node_sequences_.push_back(sequence);  // Before it can fail: EndTree is to release it.
    RETURN_IF_ERROR(cache.Extend(sequence, 1));
  }
  return absl::OkStatus();
}

void Session::EndTree(int kept) {
  KvCache& cache = core_->cache();
  const KvCache::SequenceId survivor = kept == TokenTree::kNone ? sequence_ : node_sequences_[kept];
  const int new_length = length() + (kept == TokenTree::kNone ? 0 : (*tree_)[kept].depth + 1);
  cache.Truncate(survivor, new_length);
  node_sequences_.push_back(sequence_);
  std::sort(node_sequences_.begin(), node_sequences_.end());
  node_sequences_.erase(std::unique(node_sequences_.begin(), node_sequences_.end()), node_sequences_.end());
  for (const KvCache::SequenceId sequence : node_sequences_) {
    if (sequence != survivor) cache.Release(sequence);
  }
  sequence_ = survivor;
  node_sequences_.clear();
  tree_.reset();
}

absl::Status Session::PassTree(const TokenTree& tree) {
  CHECK(!tree_.has_value()) << "a tree waits for Keep";
  const absl::Status status = core_->Guarded([&] { return PassNodes(tree); });
  if (!status.ok()) tree_.reset();
  return status;
}

absl::Status Session::PassNodes(const TokenTree& tree) {
  const int capacity = core_->runner().row_capacity();
  if (tree.size() > capacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("draft: found ", tree.size(), " nodes, expected at most ", capacity, ", the rows of a pass"));
  }
  std::vector<TokenId> tokens;
  for (const TokenTree::Node& node : tree.nodes()) tokens.push_back(node.token);
  RETURN_IF_ERROR(CheckTokens(tokens));
  RETURN_IF_ERROR(Restore());
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  RETURN_IF_ERROR(core_->cache().MakeRoom(tree.size()));
  tree_ = tree;
  const absl::Status status = RunTree(tree);
  if (!status.ok()) EndTree(TokenTree::kNone);
  return status;
}

absl::Status Session::RunTree(const TokenTree& tree) {
  RETURN_IF_ERROR(PlaceTree(tree));
  const KvCache& cache = core_->cache();
  paths_.clear();
  rows_.clear();
  for (int node = 0; node < tree.size(); ++node) paths_.push_back(cache.PathsOf(node_sequences_[node], length() + tree[node].depth + 1));
  for (int node = 0; node < tree.size(); ++node) rows_.push_back({tree[node].token, paths_[node], nullptr});
  return RunRows(/*wanted: all*/ std::nullopt);
}

absl::Status Session::TreeLogits(absl::Span<const int> nodes, TensorView<float> logits) {
  CHECK(tree_.has_value()) << "no tree";
  return core_->Guarded([&] { return ComputeLogits(nodes, logits); });
}

void Session::Keep(absl::Span<const int> path, absl::Span<const float> logits) {
  CHECK(tree_.has_value()) << "no tree";
  for (size_t i = 0; i < path.size(); ++i) {
    CHECK_EQ((*tree_)[path[i]].parent, i == 0 ? TokenTree::kNone : path[i - 1]) << "not a path";
  }
  const absl::Status kept = core_->Guarded([&] { return KeepNodes(path); });
  if (!kept.ok()) tree_.reset();
  if (path.empty() && kept.ok()) return;
  has_logits_ = kept.ok() && !logits.empty();
  if (has_logits_) std::copy(logits.begin(), logits.end(), logits_buffer_.begin());
}

absl::Status Session::KeepNodes(absl::Span<const int> path) {
  const EngineCore::Hold hold = core_->AwaitHold();
  RETURN_IF_ERROR(core_->health());
  const TokenTree tree = *tree_;
  EndTree(path.empty() ? TokenTree::kNone : path.back());
  const TestHooks* const hooks = core_->options().hooks.get();
  if (hooks == nullptr || hooks->compact_drafts) core_->cache().Compact(sequence_, length());
  for (const int node : path) tokens_.push_back(tree[node].token);
  return absl::OkStatus();
}

}  // namespace tessera
