// One text and what the KV cache holds of it: gives the rows that a pass computes next, and keeps or drops what came of them. Runs no pass.
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
// A tree may also grow in several passes, each of which says where it goes on:
//
//   RETURN_IF_ERROR(text.PlaceMore(tree, {TokenTree::kRoot}, /*adapter=*/nullptr, rows));   // and what the cache lacks of the text
//   ... a pass; if it fails, text.TakeBackMore(); tree.Add(...) ...
//   RETURN_IF_ERROR(text.PlaceMore(tree, {child}, /*adapter=*/nullptr, rows));
//
// Beside nodes of a tree there may be forecasts: rows that see the prefix of placed_forecasts.h, the path to the node and the forecasts of
// it before them. No node sees any of these, and they leave the cache with the tree.
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

// Which nodes of a tree have forecasts.
struct TreeForecasts {
  const PlacedForecasts* placed = nullptr;   // Those of this cache. Null: no node has any.
  absl::Span<const int> nodes = {};          // Ascending.
  int each = 0;                              // For each of them: the first ones that there are.
  int rows() const { return static_cast<int>(nodes.size()) * each; }
};

class CachedText {
 public:
  // An empty text. The cache must outlive it.
  explicit CachedText(KvCache& cache) : cache_(&cache), sequence_(cache.NewSequence()) {}
  ~CachedText() { Release(); }
  CachedText(const CachedText&) = delete;
  CachedText& operator=(const CachedText&) = delete;

  absl::Span<const TokenId> tokens() const { return tokens_; }
  int length() const { return static_cast<int>(tokens_.size()); }
  // Tokens that the cache has, the first ones.
  int held() const { return cache_->Length(sequence_); }
  // For code that copies its keys and values. Valid until a tree is placed. REQUIRES: nothing was released.
  KvCache::SequenceId sequence() const { return sequence_; }

  // Adds tokens, of which nothing is computed so far. REQUIRES, here and below but for what is said: no tree is placed.
  void Append(absl::Span<const TokenId> tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }
  // Drops the tokens from `length` on, and what the cache has of them. REQUIRES: 0 <= length <= length().
  void Truncate(int length);
  // The cache has at most the first `length` tokens from now on; the text stays as it is.
  void TruncateCache(int length);
  // Readies the cache for a next row. If windows have lost what that row reads, the cache has no token from now on.
  void MakeExtendable();

  // Appends rows for the next `count` tokens that the cache lacks, or for a tree that comes after the text; its root is no part of it yet.
  // The rows point into this text until the next call that places something. After an error of the cache nothing is placed. REQUIRES: room
  // was made in the cache; MakeExtendable was called since the text was changed; for a tree: held() == length().
  absl::Status PlaceNext(int count, const LoraAdapter* adapter, std::vector<PassRow>& rows);
  // Rows of forecasts come after those of all nodes, node by node. REQUIRES: their prefix is in this cache.
  absl::Status PlaceTree(const TokenTree& tree, const LoraAdapter* adapter, std::vector<PassRow>& rows,
                         const TreeForecasts& forecasts = {});

  // The same for some nodes of a tree of which others may be placed: rows for the tokens that the cache lacks, then for these nodes, in
  // their order. Any placed node may get children in a later call. After an error of the cache all is as it was. REQUIRES: `tree` has what
  // is placed, under the same numbers; none of the nodes is placed, and the parent of each is, or comes before it among them; no tree was
  // placed by PlaceTree.
  absl::Status PlaceMore(const TokenTree& tree, absl::Span<const int> nodes, const LoraAdapter* adapter, std::vector<PassRow>& rows);
  // Takes back what the last PlaceMore has placed: its pass failed. REQUIRES: nothing was called since that is not const.
  void TakeBackMore();
  bool IsPlaced(int node) const {
    return node >= 0 && static_cast<size_t>(node) < node_sequences_.size() && node_sequences_[static_cast<size_t>(node)] != kNoSequence;
  }
  // The last token is no text any more, but the root of a tree, and all of it that is placed. REQUIRES: the cache has all of the text,
  // which is not empty, and made no room since KeepPath.
  void LiftRoot();

  const TokenTree* tree() const { return tree_.has_value() ? &*tree_ : nullptr; }   // That is placed; null: none.
  // Ends the tree: `path`, the root and nodes below it, is text now, the rest is gone. An empty path keeps nothing. compact: what is kept
  // is moved next to what was there, which changes no bit (KvCache::Compact). REQUIRES: a tree is placed, and each node of the path is
  // placed and a child of the one before.
  void KeepPath(absl::Span<const int> path, bool compact);

  // A text that begins with the first `length` tokens of this one and shares what the cache has of them. The cache's errors.
  // REQUIRES: 0 <= length <= length().
  absl::StatusOr<std::unique_ptr<CachedText>> Fork(int length) const;

  // Gives back what it has in the cache: nothing may be called any more but the destructor, Truncate and what reads tokens. Allocates
  // nothing: it can be done where memory has ended.
  void Release();
  // The same without a word to the cache, whose state is unknown (EngineCore::Guarded).
  void Abandon();

 private:
  static constexpr KvCache::SequenceId kNoSequence = -1;
  CachedText(KvCache& cache, KvCache::SequenceId sequence) : cache_(&cache), sequence_(sequence) {}
  absl::Status PlaceNodes();
  absl::Status ForkForecasts(const TreeForecasts& forecasts);
  void AddForecastRows(const TreeForecasts& forecasts, const LoraAdapter* adapter, std::vector<PassRow>& rows);
  absl::Status PlaceMoreNodes(absl::Span<const int> nodes);
  // Drops what the cache has of the tree, but for the node's path (TokenTree::kNone: of all).
  void EndTree(int kept);
  // Gives back all of these: the text's sequence, and those of the tree, if there is one.
  void ReleaseAllBut(KvCache::SequenceId survivor);

  KvCache* cache_;                                  // Null once it is released.
  KvCache::SequenceId sequence_;
  std::vector<TokenId> tokens_;
  std::vector<KvCache::Paths> paths_;               // Those of the rows that were placed last.
  std::optional<TokenTree> tree_;
  std::vector<KvCache::SequenceId> node_sequences_; // Per node of it: the sequence of its path; kNoSequence: it is not placed.
  std::vector<KvCache::SequenceId> forecast_sequences_;   // Per node that has forecasts: its path, and they.
  std::vector<KvCache::Paths> forecast_paths_;            // Those of their rows, with the prefix.
  std::vector<int> more_;                           // Nodes that the last PlaceMore placed,
  int held_before_more_ = 0;                        // and what it found of the text.
  std::vector<TokenId> kept_;                       // By the last KeepPath; its memory stays.
};

}  // namespace tessera
