// A device's view of the keys and values of past rows: memory cut into slots, and each row's path of readable slots.
//
//   KvView kv = cache.View(/*first_layer=*/3);                   // model/kv_cache owns the memory
//   uint16_t* key = kv.Keys<uint16_t>(/*layer=*/0, /*head=*/1);
//   key[kv.KeyIndex(slot, d)] = FloatToHalf(k[d]);
//   for (const SlotRange& range : path) Attend(range.begin, range.count);
//
// Keys are in the order [slot / 16][dimension][slot % 16], so that one vector holds a dimension of sixteen positions. Values are in the
// order [slot][dimension], padded to a multiple of 16, so that one vector holds sixteen dimensions of a position. In the 8-bit format a
// number is its code times a scale. There is one scale per slot and head, for keys and for values; a head's scales are behind the head's
// codes. The codes are codes of the rotated head (docs/numerics.md).
//
// A row's path gives the slots that the row reads, and their order: slot ranges that cover the row's logical positions 0, 1, 2, ...
// ascending, the row's own slot last. The first positions may be out of reach of every window; a path then gives only the number of such
// positions (kNoSlot).
//
// Lifetime: views own nothing and are safe to copy.
// Threads: the cache ensures that no slot is written while another thread reads the slot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct SlotRange {
  int32_t begin;
  int32_t count;
  friend bool operator==(const SlotRange& a, const SlotRange& b) { return a.begin == b.begin && a.count == b.count; }
};

// Marks, as `begin` of a path's first range, that the range's positions are stored nowhere. Allowed only for rows whose window begins after
// the range.
constexpr int32_t kNoSlot = -1;

// The logical positions 0 .. length-1 of one row, in order.
using SlotPath = absl::Span<const SlotRange>;

inline int64_t PathLength(SlotPath path) {
  int64_t length = 0;
  for (const SlotRange& range : path) length += range.count;
  return length;
}

// kHalf: FP16. kInt8: codes of -127 to 127 and a scale in FP32. kFloat: FP32, for the reference path.
enum class KvFormat : uint8_t { kHalf, kInt8, kFloat };

constexpr const char* KvFormatName(KvFormat format) {
  return format == KvFormat::kHalf ? "FP16" : format == KvFormat::kInt8 ? "8-bit" : "FP32";
}

class KvView {
 public:
  static constexpr int kSlotsPerBlock = 16;
  static constexpr int kLargestByteHead = 1024;  // Numbers of a head in the 8-bit format: kernels rotate a head on their stack.

  KvView() = default;
  // keys, values: memory of the first layer of the view. slots: REQUIRES a multiple of 16.
  KvView(std::byte* keys, std::byte* values, KvFormat format, int heads, int head_size, int slots)
      : keys_(keys), values_(values), format_(format), heads_(heads), head_size_(head_size), slots_(slots) {}

  static constexpr int64_t ValueStride(int head_size) { return (head_size + 15) / 16 * 16; }
  static int64_t ElementBytes(KvFormat format) { return format == KvFormat::kInt8 ? 1 : format == KvFormat::kHalf ? 2 : 4; }
  // Returns the bytes of `width` numbers of one slot and head, including the scale.
  static int64_t SlotBytes(KvFormat format, int64_t width) {
    return width * ElementBytes(format) + (format == KvFormat::kInt8 ? static_cast<int64_t>(sizeof(float)) : 0);
  }
  // Return the bytes of one layer's keys, and of one layer's values.
  static int64_t KeyBytes(KvFormat format, int heads, int head_size, int64_t slots) {
    return heads * slots * SlotBytes(format, head_size);
  }
  static int64_t ValueBytes(KvFormat format, int heads, int head_size, int64_t slots) {
    return heads * slots * SlotBytes(format, ValueStride(head_size));
  }

  KvFormat format() const { return format_; }
  int heads() const { return heads_; }
  int head_size() const { return head_size_; }
  int slots() const { return slots_; }

  // T: uint16_t (FP16), int8_t (codes) or float, matching format().
  template <typename T>
  T* Keys(int layer, int head) const {
    return reinterpret_cast<T*>(keys_ + (int64_t{layer} * heads_ + head) * KeyBytes(format_, 1, head_size_, slots_));
  }
  template <typename T>
  T* Values(int layer, int head) const {
    return reinterpret_cast<T*>(values_ + (int64_t{layer} * heads_ + head) * ValueBytes(format_, 1, head_size_, slots_));
  }
  // Return the scales, one per slot. REQUIRES: format() is kInt8.
  float* KeyScales(int layer, int head) const {
    return reinterpret_cast<float*>(Keys<int8_t>(layer, head) + int64_t{slots_} * head_size_);
  }
  float* ValueScales(int layer, int head) const {
    return reinterpret_cast<float*>(Values<int8_t>(layer, head) + slots_ * ValueStride(head_size_));
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
