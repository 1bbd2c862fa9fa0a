// Keys and values of past rows as a device sees them: memory cut into slots, and the path of slots each row may attend to.
//
//   KvView kv = cache.View(/*first_layer=*/3);                   // model/kv_cache owns the memory
//   uint16_t* key = kv.Keys<uint16_t>(/*layer=*/0, /*head=*/1);
//   key[kv.KeyIndex(slot, d)] = FloatToHalf(k[d]);
//   for (const SlotRange& range : path) Attend(range.begin, range.count);
//
// Keys lie [slot / 16][dimension][slot % 16], so that one vector holds a dimension of sixteen positions; values lie
// [slot][dimension], padded to a multiple of 16, so that one vector holds sixteen dimensions of a position. Which slots a row
// reads, and in which order, is its path: slot ranges that cover its logical positions 0, 1, 2, ... ascending, its own slot last.
// Of positions that no window reaches any more, the first of all, a path may know only how many they were (kNoSlot).
// Views own nothing and are safe to copy; who writes a slot while others read it is the cache's affair.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace tessera {

struct SlotRange {
  int32_t begin;
  int32_t count;
  friend bool operator==(const SlotRange& a, const SlotRange& b) { return a.begin == b.begin && a.count == b.count; }
};

// As `begin` of a path's first range: these positions are stored nowhere. Only rows whose window begins after them may have it.
constexpr int32_t kNoSlot = -1;

// The logical positions 0 .. length-1 of one row, in order.
using SlotPath = absl::Span<const SlotRange>;

inline int64_t PathLength(SlotPath path) {
  int64_t length = 0;
  for (const SlotRange& range : path) length += range.count;
  return length;
}

enum class KvFormat : uint8_t { kHalf, kFloat };  // The fast path stores FP16, the reference path FP32.

class KvView {
 public:
  static constexpr int kSlotsPerBlock = 16;

  KvView() = default;
  // keys, values: of the first layer seen. slots: REQUIRES a multiple of 16.
  KvView(std::byte* keys, std::byte* values, KvFormat format, int heads, int head_size, int slots)
      : keys_(keys), values_(values), format_(format), heads_(heads), head_size_(head_size), slots_(slots) {}

  static constexpr int64_t ValueStride(int head_size) { return (head_size + 15) / 16 * 16; }
  static int64_t ElementBytes(KvFormat format) { return format == KvFormat::kHalf ? 2 : 4; }
  // Bytes of one layer's keys and of one layer's values.
  static int64_t KeyBytes(KvFormat format, int heads, int head_size, int64_t slots) {
    return heads * slots * head_size * ElementBytes(format);
  }
  static int64_t ValueBytes(KvFormat format, int heads, int head_size, int64_t slots) {
    return heads * slots * ValueStride(head_size) * ElementBytes(format);
  }

  KvFormat format() const { return format_; }
  int heads() const { return heads_; }
  int head_size() const { return head_size_; }
  int slots() const { return slots_; }

  // T: uint16_t (FP16) or float, as format() says.
  template <typename T>
  T* Keys(int layer, int head) const {
    return reinterpret_cast<T*>(keys_ + layer * KeyBytes(format_, heads_, head_size_, slots_)) +
           static_cast<int64_t>(head) * slots_ * head_size_;
  }
  template <typename T>
  T* Values(int layer, int head) const {
    return reinterpret_cast<T*>(values_ + layer * ValueBytes(format_, heads_, head_size_, slots_)) +
           static_cast<int64_t>(head) * slots_ * ValueStride(head_size_);
  }
  int64_t KeyIndex(int slot, int dimension) const {
    return (static_cast<int64_t>(slot / kSlotsPerBlock) * head_size_ + dimension) * kSlotsPerBlock + slot % kSlotsPerBlock;
  }
  int64_t ValueIndex(int slot, int dimension) const { return slot * ValueStride(head_size_) + dimension; }

 private:
  std::byte* keys_ = nullptr;
  std::byte* values_ = nullptr;
  KvFormat format_ = KvFormat::kHalf;
  int heads_ = 0;
  int head_size_ = 0;
  int slots_ = 0;
};

}  // namespace tessera
