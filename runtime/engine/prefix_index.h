// The prefixes of texts that a KV cache still holds, by tokens and adapter: a new text starts where another was.
//
//   PrefixIndex prefixes;
//   const PrefixIndex::AdapterKey adapter = PrefixIndex::KeyOf(options.adapter);
//   prefixes.Keep(std::move(ended_text), adapter);                        // frozen: its windows may be given up, its slots are kept
//   std::unique_ptr<CachedText> begun = prefixes.Take(prompt, adapter);   // shares the longest beginning; null: there is none
//   while (cache.RoomFor(rows) < rows && prefixes.EvictOldest()) {}        // room is wanted: the least recently used goes first
//
// What is taken has the bits that it would have if it were computed: keys and values depend on the tokens before them and on the adapter
// alone. Two adapters share nothing, equal ones included: an adapter is who it is, and no number of its contents is taken for it.
// Threads: one at a time for all texts of a cache.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/lora.h"
#include "tessera/runtime/engine/cached_text.h"

namespace tessera {

class PrefixIndex {
 public:
  using AdapterKey = uint64_t;   // LoraAdapter::id(), which no two have; 0: none.
  static AdapterKey KeyOf(const LoraAdapter* adapter) { return adapter == nullptr ? 0 : adapter->id(); }

  // Keeps what the cache holds of an ended text. One that begins another in full is not kept beside it, if that can be cut there.
  void Keep(std::unique_ptr<CachedText> text, AdapterKey adapter);

  // A text that begins with as many tokens as possible, all but the last of `tokens` at most, and can be extended. Null if that is none.
  std::unique_ptr<CachedText> Take(absl::Span<const TokenId> tokens, AdapterKey adapter);
  // The tokens that Take would share. Changes nothing.
  int Longest(absl::Span<const TokenId> tokens, AdapterKey adapter) const;

  // Gives back the slots of the beginning that was least recently kept or taken, but for those that others share. False: there is none.
  bool EvictOldest();
  // Drops all. With Abandon, without a word to the cache (CachedText::Abandon).
  void Clear() { entries_.clear(); }
  void Abandon();
  int size() const { return static_cast<int>(entries_.size()); }
  // Tokens that it holds in the cache; those that others share count for each.
  int64_t held() const;

 private:
  struct Entry {
    std::unique_ptr<CachedText> text;
    AdapterKey adapter;
  };
  std::list<Entry> entries_;   // The most recently used first.
};

// How many tokens both begin with.
int CommonPrefix(absl::Span<const TokenId> a, absl::Span<const TokenId> b);

// A fork that shares the first `length` tokens at most, as far as the cache holds them, and can be extended; null: that is none.
std::unique_ptr<CachedText> ForkPrefix(const CachedText& text, int length);

}  // namespace tessera
