#include "tessera/model/tokenizers/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "absl/hash/hash.h"
#include "glog/logging.h"

namespace tessera {
namespace {

constexpr size_t kAtOnce = 32;  // Merges whose slots are asked for before the first of them is looked at.

// Seeded by the process's addresses, so a file cannot choose merges that all fall on one slot.
uint64_t HashOf(TokenId left, TokenId right) { return absl::Hash<std::pair<TokenId, TokenId>>()({left, right}); }

}  // namespace

MergeTable::MergeTable(std::vector<MergeTokens> merges)
    : merges_(std::move(merges)), slots_(2 * std::bit_ceil(merges_.size() + 1)),
      rank_mask_(static_cast<uint32_t>(std::bit_ceil(merges_.size() + 1) - 1)) {
  CHECK_LT(merges_.size(), size_t{1} << 30);
  std::array<uint64_t, kAtOnce> hashes;
  for (size_t begin = 0; begin < merges_.size(); begin += kAtOnce) {
    const size_t end = std::min(begin + kAtOnce, merges_.size());
    for (size_t rank = begin; rank < end; ++rank) {
      const uint64_t hash = hashes[rank - begin] = HashOf(merges_[rank].left, merges_[rank].right);
      __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
    }
    for (size_t rank = begin; rank < end; ++rank) {
      if (merges_[rank].joined < 0) continue;
      const uint64_t hash = hashes[rank - begin];
      uint32_t& slot = slots_[SlotOf(merges_[rank].left, merges_[rank].right, hash)];
      if (slot == 0) slot = TagOf(hash) | static_cast<uint32_t>(rank + 1);
    }
  }
}

size_t MergeTable::SlotOf(TokenId left, TokenId right, uint64_t hash) const {
  const auto is_other = [&, tag = TagOf(hash)](uint32_t slot) {
    if (slot == 0) return false;
    if ((slot & ~rank_mask_) != tag) return true;
    const MergeTokens& merge = merges_[(slot & rank_mask_) - 1];
    return merge.left != left || merge.right != right;
  };
  size_t slot = hash & (slots_.size() - 1);
  while (is_other(slots_[slot])) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

std::optional<size_t> MergeTable::Find(TokenId left, TokenId right) const {
  const uint32_t slot = slots_[SlotOf(left, right, HashOf(left, right))];
  if (slot == 0) return std::nullopt;
  return (slot & rank_mask_) - 1;
}

}  // namespace tessera
