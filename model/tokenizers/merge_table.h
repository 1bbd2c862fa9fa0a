// Which neighbouring tokens merge: two texts of a byte pair encoding's list of merges, how soon they do, and what they become.
//
//   MergeTable table(std::move(merges));                          // in the order of the file: the first merges soonest
//   if (const std::optional<size_t> rank = table.Find(left, right)) Use(table.merge(*rank).joined);
//
// A general hash map takes three times as much memory, and what takes time in filling one is the memory. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/model/token.h"

namespace tessera {

struct MergeTokens { TokenId left, right, joined; };  // `joined` < 0: these two do not merge.

class MergeTable {
 public:
  MergeTable() : MergeTable(std::vector<MergeTokens>()) {}
  // Of two merges of the same tokens the first counts. REQUIRES: fewer than 2^30.
  explicit MergeTable(std::vector<MergeTokens> merges);

  std::optional<size_t> Find(TokenId left, TokenId right) const;
  const MergeTokens& merge(size_t rank) const { return merges_[rank]; }

 private:
  size_t SlotOf(TokenId left, TokenId right, uint64_t hash) const;  // Where the two are, or the free slot where they would go.
  uint32_t TagOf(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) & ~rank_mask_; }

  std::vector<MergeTokens> merges_;
  // Open addressing with linear probing, a power of two of slots, at most half of them taken. A slot has a rank plus 1 in its low bits and
  // some of the hash, its tag, in all others; a free one is 0.
  std::vector<uint32_t> slots_;
  uint32_t rank_mask_;
};

}  // namespace tessera
