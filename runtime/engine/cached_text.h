// One text, a committed token sequence, with its entries in the KV cache. Makes the rows that a pass computes next, then commits or drops
// the computed rows. Runs no pass.
//
//   CachedText text(cache);
//   text.Append(prompt);
//   std::vector<PassRow> rows;
//   RETURN_IF_ERROR(cache.MakeRoom(8));                                     // for all texts of the pass
//   RETURN_IF_ERROR(text.PlaceNext(8, /*adapter=*/nullptr, rows));          // the next eight tokens that the cache lacks
//   ... a pass over the rows; if it fails, text.TruncateCache(text.held() - 8) ...
//
//   RETURN_IF_ERROR(text.PlaceTree(tree, /*adapter=*/nullptr, rows));       // a draft after the text
//   ... a pass, and logits that say which nodes are right ...
//   text.KeepPath(path, /*compact=*/true);                                  // these are text now
//
// A tree may also grow in several passes. Each pass names its nodes:
//
//   RETURN_IF_ERROR(text.PlaceMore(tree, {TokenTree::kRoot}, /*adapter=*/nullptr, rows));   // and what the cache lacks of the text
//   ... a pass; if it fails, text.TakeBackMore(); tree.Add(...) ...
//   RETURN_IF_ERROR(text.PlaceMore(tree, {child}, /*adapter=*/nullptr, rows));
//
// Nodes of a tree may have forecasts: rows that see the prefix of placed_forecasts.h, the path to the node and the node's earlier
// forecasts. No node sees the prefix or a forecast. Forecasts leave the cache with the tree.
//
// Threads: one at a time for all texts of a cache.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/lora.h"
#include "tessera/model/pass.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

class PlacedForecasts;

// The nodes of a tree that have forecasts.
struct TreeForecasts {
  const PlacedForecasts* placed = nullptr;   // The forecasts of this cache. Null: no node has any.
  absl::Span<const int> nodes = {};          // Ascending.
  int each = 0;                              // Forecasts per node: the first ones of `placed`.
  int rows() const { return static_cast<int>(nodes.size()) * each; }
};

class CachedText {
 public:
  // Makes an empty text. The cache must outlive the text.
  explicit CachedText(KvCache& cache) : cache_(&cache), sequence_(cache.NewSequence()) {}
  ~CachedText() { Release(); }
  CachedText(const CachedText&) = delete;
  CachedText& operator=(const CachedText&) = delete;

  absl::Span<const TokenId> tokens() const { return tokens_; }
  int length() const { return static_cast<int>(tokens_.size()); }
  // Returns how many tokens the cache holds: the first held() tokens of the text.
  int held() const { return cache_->Length(sequence_); }
  // Returns the KV cache's sequence, for code that copies keys and values. Valid until a tree is placed. REQUIRES: nothing was released.
  KvCache::SequenceId sequence() const { return sequence_; }

  // Adds tokens; none of the new tokens is computed yet. REQUIRES, here and below unless stated otherwise: no tree is placed.
  void Append(absl::Span<const TokenId> tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }
  // Drops the tokens from `length` on, with their cache entries. REQUIRES: 0 <= length <= length().
  void Truncate(int length);
  // Drops the cache entries from token `length` on; the text stays unchanged.
  void TruncateCache(int length);
  // Readies the cache for a next row. If sliding windows have lost entries that the row reads, drops all of the text's cache entries.
  void MakeExtendable();

  // Appends rows for the next `count` tokens that the cache lacks. The rows point into this text until the next call that places rows.
  // After a cache error nothing is placed. REQUIRES: room was made in the cache; MakeExtendable was called after the text's last change.
  absl::Status PlaceNext(int count, const LoraAdapter* adapter, std::vector<PassRow>& rows);
  // Appends rows for a tree that follows the text; the tree's root is not part of the text yet. Rows of forecasts follow the rows of all
  // nodes, node by node. Lifetime and errors are PlaceNext's. REQUIRES: as PlaceNext, and held() == length(); the forecasts' prefix is in
  // this cache.
  absl::Status PlaceTree(const TokenTree& tree, const LoraAdapter* adapter, std::vector<PassRow>& rows,
                         const TreeForecasts& forecasts = {});

  // Appends rows for the tokens that the cache lacks, then for `nodes`, in the order of `nodes`. Other nodes of the tree may be placed
  // already. Any placed node may get children in a later call. After a cache error everything is as before the call. The rows are
  // valid as long as PlaceNext's. REQUIRES: as PlaceNext; `tree` holds the placed nodes under the same numbers; none of `nodes` is placed;
  // the parent of each node is placed or comes earlier in `nodes`; no tree was placed by PlaceTree.
  absl::Status PlaceMore(const TokenTree& tree, absl::Span<const int> nodes, const LoraAdapter* adapter, std::vector<PassRow>& rows);
  // Undoes the last PlaceMore, whose pass failed. REQUIRES: only const functions were called since.
  void TakeBackMore();
  bool IsPlaced(int node) const {
    return node >= 0 && static_cast<size_t>(node) < node_sequences_.size() && node_sequences_[static_cast<size_t>(node)] != kNoSequence;
  }
  // Turns the last token of the text into the root of a tree, the only placed node. REQUIRES: the cache holds the whole text, which is not
  // empty; the cache made no room since KeepPath.
  void LiftRoot();

  const TokenTree* tree() const { return tree_.has_value() ? &*tree_ : nullptr; }   // The placed tree; null: none.
  // Ends the tree. Commits `path`, the root and nodes below, to the text, and drops the other nodes. An empty path commits nothing.
  // compact: moves the kept entries next to the text's earlier entries, which changes no bit (KvCache::Compact). REQUIRES: a tree is
  // placed; each node of the path is placed and a child of the node before.
  void KeepPath(absl::Span<const int> path, bool compact);

  // Returns a text that begins with the first `length` tokens of this text and shares their cache entries. Errors: the cache's.
  // REQUIRES: 0 <= length <= length().
  absl::StatusOr<std::unique_ptr<CachedText>> Fork(int length) const;

  // Gives back the text's cache entries. Afterwards only the destructor, Truncate and functions that read tokens may be called. Allocates
  // nothing, so the call works where memory has run out.
  void Release();
  // Like Release, but leaves the cache untouched, as the cache's state is unknown (EngineCore::Guarded).
  void Abandon();

 private:
  static constexpr KvCache::SequenceId kNoSequence = -1;
  CachedText(KvCache& cache, KvCache::SequenceId sequence) : cache_(&cache), sequence_(sequence) {}
  absl::Status PlaceNodes();
  absl::Status ForkForecasts(const TreeForecasts& forecasts);
  void AddForecastRows(const TreeForecasts& forecasts, const LoraAdapter* adapter, std::vector<PassRow>& rows);
  absl::Status PlaceMoreNodes(absl::Span<const int> nodes);
  // Drops the tree's cache entries, except the path to the node (TokenTree::kNone: drops all of the tree).
  void EndTree(int kept);
  // Releases the sequences of the text, the tree and the forecasts, except `survivor`.
  void ReleaseAllBut(KvCache::SequenceId survivor);

  KvCache* cache_;                                  // Null after Release and Abandon.
  KvCache::SequenceId sequence_;
  std::vector<TokenId> tokens_;
  std::vector<KvCache::Paths> paths_;               // Paths of the rows that were placed last.
  std::optional<TokenTree> tree_;
  std::vector<KvCache::SequenceId> node_sequences_; // Per node of the tree: the path's sequence; kNoSequence: not placed.
  std::vector<KvCache::SequenceId> forecast_sequences_;   // Per node that has forecasts: the path and the forecasts.
  std::vector<KvCache::Paths> forecast_paths_;            // Paths of the forecasts' rows, with the prefix.
  std::vector<int> more_;                           // Nodes that the last PlaceMore placed.
  int held_before_more_ = 0;                        // held() before the last PlaceMore.
  std::vector<TokenId> kept_;                       // Tokens of the last KeepPath; the memory is reused.
};

}  // namespace tessera
