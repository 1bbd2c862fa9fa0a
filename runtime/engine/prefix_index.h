// Prefixes of ended sequences that a KV cache still holds, by tokens and adapter. A new sequence continues the longest matching prefix.
//
//   PrefixIndex prefixes;
//   const PrefixIndex::AdapterKey adapter = PrefixIndex::KeyOf(options.adapter);
//   prefixes.Keep(std::move(ended_text), adapter);                        // frozen: its windows may be given up, its slots are kept
//   std::unique_ptr<CachedText> begun = prefixes.Take(prompt, adapter);   // shares the longest beginning; null: there is none
//   while (cache.RoomFor(rows) < rows && prefixes.EvictOldest()) {}        // room is wanted: the least recently used goes first
//
// A taken prefix has the same bits as a computed one: keys and values depend only on the tokens before them and on the adapter. Two
// adapters share nothing, even with equal contents: adapters are compared by identity, never by a checksum.
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
  using AdapterKey = uint64_t;   // LoraAdapter::id(), unique per adapter; 0: none.
  static AdapterKey KeyOf(const LoraAdapter* adapter) { return adapter == nullptr ? 0 : adapter->id(); }

  // Keeps the cache entries of an ended text. Drops a text that is a prefix of another one, if the other one can be cut there.
  void Keep(std::unique_ptr<CachedText> text, AdapterKey adapter);

  // Returns a text that begins with as many of `tokens` as possible, at most all except the last, and can be extended. Null if there is no
  // such text.
  std::unique_ptr<CachedText> Take(absl::Span<const TokenId> tokens, AdapterKey adapter);
  // Returns how many tokens Take would share. Changes nothing.
  int Longest(absl::Span<const TokenId> tokens, AdapterKey adapter) const;

  // Gives back the slots of the prefix that was least recently kept or taken, except slots that others share. Returns false if there is no
  // prefix.
  bool EvictOldest();
  // Drops all prefixes. Abandon leaves the cache untouched (CachedText::Abandon).
  void Clear() { entries_.clear(); }
  void Abandon();
  int size() const { return static_cast<int>(entries_.size()); }
  // Returns the tokens that all prefixes hold in the cache. Shared tokens count once per prefix.
  int64_t held() const;

 private:
  struct Entry {
    std::unique_ptr<CachedText> text;
    AdapterKey adapter;
  };
  std::list<Entry> entries_;   // The most recently used first.
};

// Returns how many tokens `a` and `b` have in common from the start.
int CommonPrefix(absl::Span<const TokenId> a, absl::Span<const TokenId> b);

// Returns a fork that shares at most the first `length` tokens, as far as the cache holds them, and can be extended. Null if there is no
// such fork.
std::unique_ptr<CachedText> ForkPrefix(const CachedText& text, int length);

}  // namespace tessera
