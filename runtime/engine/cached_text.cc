#include "tessera/runtime/engine/cached_text.h"

#include <algorithm>
#include <utility>

#include <glog/logging.h>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/placed_forecasts.h"

namespace tessera {

void CachedText::Truncate(int length) {
  CHECK(length >= 0 && length <= this->length()) << length << " of " << this->length() << " tokens";
  if (cache_ != nullptr) TruncateCache(length);
  tokens_.resize(length);
}

void CachedText::TruncateCache(int length) { cache_->Truncate(sequence_, std::min(length, held())); }

void CachedText::MakeExtendable() {
  if (!cache_->CanExtend(sequence_)) cache_->Truncate(sequence_, 0);
}

absl::Status CachedText::PlaceNext(int count, const LoraAdapter* adapter, std::vector<PassRow>& rows) {
  const int before = held();
  CHECK(count >= 0 && count <= length() - before) << count << " of " << length() - before << " tokens";
  RETURN_IF_ERROR(cache_->Extend(sequence_, count));
  paths_.clear();
  for (int i = 0; i < count; ++i) paths_.push_back(cache_->PathsOf(sequence_, before + i + 1));
  for (int i = 0; i < count; ++i) rows.push_back({.token = tokens_[before + i], .paths = paths_[i], .adapter = adapter});
  return absl::OkStatus();
}

absl::Status CachedText::PlaceTree(const TokenTree& tree, const LoraAdapter* adapter, std::vector<PassRow>& rows,
                                   const TreeForecasts& forecasts) {
  CHECK(!tree_.has_value()) << "a tree waits for KeepPath";
  tree_ = tree;
  absl::Status placed = PlaceNodes();
  if (placed.ok()) placed = ForkForecasts(forecasts);
  if (!placed.ok()) {
    EndTree(TokenTree::kNone);
    return placed;
  }
  paths_.clear();
  for (int node = 0; node < tree.size(); ++node) {
    paths_.push_back(cache_->PathsOf(node_sequences_[node], length() + tree[node].depth + 1));
  }
  for (int node = 0; node < tree.size(); ++node) rows.push_back({.token = tree[node].token, .paths = paths_[node], .adapter = adapter});
  AddForecastRows(forecasts, adapter, rows);
  return absl::OkStatus();
}

absl::Status CachedText::ForkForecasts(const TreeForecasts& forecasts) {
  for (const int node : forecasts.nodes) {
    ASSIGN_OR_RETURN(const KvCache::SequenceId fork, cache_->Fork(node_sequences_[node], length() + (*tree_)[node].depth + 1));
    forecast_sequences_.push_back(fork);   // Before Extend can fail: EndTree is to release the fork.
    RETURN_IF_ERROR(cache_->Extend(fork, forecasts.each));
  }
  return absl::OkStatus();
}

void CachedText::AddForecastRows(const TreeForecasts& forecasts, const LoraAdapter* adapter, std::vector<PassRow>& rows) {
  if (forecasts.nodes.empty()) return;
  const KvCache::Paths prefix = forecasts.placed->Prefix();
  forecast_paths_.clear();
  forecast_paths_.reserve(static_cast<size_t>(forecasts.rows()));   // Rows point into the vector.
  for (size_t i = 0; i < forecasts.nodes.size(); ++i) {
    const int to_node = length() + (*tree_)[forecasts.nodes[i]].depth + 1;
    for (int k = 0; k < forecasts.each; ++k) {
      KvCache::Paths& paths = forecast_paths_.emplace_back(cache_->PathsOf(forecast_sequences_[i], to_node + k + 1));
      for (size_t group = 0; group < paths.size(); ++group) {
        paths[group].insert(paths[group].begin(), prefix[group].begin(), prefix[group].end());
      }
      rows.push_back(
          {.paths = paths, .adapter = adapter, .embedding = forecasts.placed->forecasts().embedding(k), .position = to_node + k});
    }
  }
}

// Places all nodes of the tree. A first child extends its parent's sequence, which copies nothing and keeps slots together; the other
// children are forks.
absl::Status CachedText::PlaceNodes() {
  const TokenTree& tree = *tree_;
  node_sequences_.clear();
  for (int node = 0; node < tree.size(); ++node) {
    KvCache::SequenceId sequence = sequence_;
    if (node != TokenTree::kRoot) {
      const int parent_length = length() + tree[node].depth;
      sequence = node_sequences_[tree[node].parent];
      if (cache_->Length(sequence) != parent_length) {
        ASSIGN_OR_RETURN(sequence, cache_->Fork(sequence, parent_length));
      }
    }
    node_sequences_.push_back(sequence);  // Before Extend can fail: EndTree is to release the sequence.
    RETURN_IF_ERROR(cache_->Extend(sequence, 1));
  }
  return absl::OkStatus();
}

absl::Status CachedText::PlaceMore(const TokenTree& tree, absl::Span<const int> nodes, const LoraAdapter* adapter,
                                   std::vector<PassRow>& rows) {
  CHECK(!nodes.empty()) << "no nodes";
  const int before = held_before_more_ = held();
  more_.clear();
  tree_ = tree;
  node_sequences_.resize(tree.nodes().size(), kNoSequence);
  if (const absl::Status placed = PlaceMoreNodes(nodes); !placed.ok()) {
    TakeBackMore();
    return placed;
  }
  paths_.clear();
  for (int place = before; place < length(); ++place) paths_.push_back(cache_->PathsOf(sequence_, place + 1));
  for (const int node : nodes) paths_.push_back(cache_->PathsOf(node_sequences_[node], length() + tree[node].depth + 1));
  auto paths = paths_.begin();
  for (int place = before; place < length(); ++place) rows.push_back({.token = tokens_[place], .paths = *paths++, .adapter = adapter});
  for (const int node : nodes) rows.push_back({.token = tree[node].token, .paths = *paths++, .adapter = adapter});
  return absl::OkStatus();
}

// Places some nodes. Each node ends a sequence of its own, so windows keep the entries that the next rows of all nodes read.
absl::Status CachedText::PlaceMoreNodes(absl::Span<const int> nodes) {
  RETURN_IF_ERROR(cache_->Extend(sequence_, length() - held()));
  for (const int node : nodes) {
    const int parent = (*tree_)[node].parent, depth = (*tree_)[node].depth;
    CHECK(!IsPlaced(node) && (parent == TokenTree::kNone || IsPlaced(parent))) << "node " << node;
    const KvCache::SequenceId before = parent == TokenTree::kNone ? sequence_ : node_sequences_[parent];
    ASSIGN_OR_RETURN(node_sequences_[node], cache_->Fork(before, length() + depth));
    more_.push_back(node);   // Before Extend can fail: TakeBackMore is to release the node.
    RETURN_IF_ERROR(cache_->Extend(node_sequences_[node], 1));
  }
  return absl::OkStatus();
}

void CachedText::TakeBackMore() {
  for (const int node : more_) cache_->Release(std::exchange(node_sequences_[node], kNoSequence));
  more_.clear();
  TruncateCache(held_before_more_);
  if (IsPlaced(TokenTree::kRoot)) return;
  node_sequences_.clear();
  tree_.reset();
}

void CachedText::LiftRoot() {
  CHECK(!tree_.has_value() && length() > 0 && held() == length()) << held() << " of " << length() << " tokens";
  tree_.emplace(tokens_.back());
  tokens_.pop_back();
  node_sequences_.assign(1, sequence_);
  absl::StatusOr<KvCache::SequenceId> text = cache_->Fork(sequence_, length());
  CHECK(text.ok()) << text.status();
  sequence_ = *text;
}

void CachedText::EndTree(int kept) {
  const KvCache::SequenceId survivor = kept == TokenTree::kNone ? sequence_ : node_sequences_[kept];
  const int new_length = length() + (kept == TokenTree::kNone ? 0 : (*tree_)[kept].depth + 1);
  cache_->Truncate(survivor, new_length);
  ReleaseAllBut(survivor);
  sequence_ = survivor;
}

void CachedText::ReleaseAllBut(KvCache::SequenceId survivor) {
  for (const KvCache::SequenceId forecasts : forecast_sequences_) cache_->Release(forecasts);
  forecast_sequences_.clear();
  std::sort(node_sequences_.begin(), node_sequences_.end());
  const auto end = std::unique(node_sequences_.begin(), node_sequences_.end());
  for (auto sequence = node_sequences_.begin(); sequence != end; ++sequence) {
    if (*sequence != survivor && *sequence != sequence_ && *sequence != kNoSequence) cache_->Release(*sequence);
  }
  if (sequence_ != survivor) cache_->Release(sequence_);
  node_sequences_.clear();
  tree_.reset();
}

void CachedText::KeepPath(absl::Span<const int> path, bool compact) {
  CHECK(tree_.has_value()) << "no tree";
  kept_.clear();
  for (size_t i = 0; i < path.size(); ++i) {
    CHECK_EQ((*tree_)[path[i]].parent, i == 0 ? TokenTree::kNone : path[i - 1]) << "not a path";
    kept_.push_back((*tree_)[path[i]].token);
  }
  EndTree(path.empty() ? TokenTree::kNone : path.back());
  if (compact) cache_->Compact(sequence_, length());
  Append(kept_);
}

absl::StatusOr<std::unique_ptr<CachedText>> CachedText::Fork(int length) const {
  CHECK(length >= 0 && length <= this->length()) << length << " of " << this->length() << " tokens";
  ASSIGN_OR_RETURN(const KvCache::SequenceId sequence, cache_->Fork(sequence_, std::min(length, held())));
  auto fork = std::unique_ptr<CachedText>(new CachedText(*cache_, sequence));
  fork->tokens_.assign(tokens_.begin(), tokens_.begin() + length);
  return fork;
}

void CachedText::Release() {
  if (cache_ == nullptr) return;
  ReleaseAllBut(sequence_);
  cache_->Release(sequence_);
  cache_ = nullptr;
}

void CachedText::Abandon() {
  tree_.reset();
  cache_ = nullptr;
}

}  // namespace tessera
