#include "tessera/tensor/kv_view.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"

namespace tessera {
namespace {

constexpr int kHeads = 2, kHeadSize = 20, kSlots = 48, kLayers = 2;

struct Memory {
  explicit Memory(KvFormat format)
      : keys(kLayers * KvView::KeyBytes(format, kHeads, kHeadSize, kSlots)),
        values(kLayers * KvView::ValueBytes(format, kHeads, kHeadSize, kSlots)),
        view(keys.data(), values.data(), format, kHeads, kHeadSize, kSlots) {}
  std::vector<std::byte> keys, values;
  KvView view;
};

TEST(KvView, HeaderExample) {
  Memory memory(KvFormat::kHalf);
  KvView kv = memory.view;
  const int slot = 17, d = 3;
  uint16_t* key = kv.Keys<uint16_t>(/*layer=*/0, /*head=*/1);
  key[kv.KeyIndex(slot, d)] = FloatToHalf(0.5f);
  const std::vector<SlotRange> ranges = {{0, 16}, {16, 2}};
  const SlotPath path = ranges;
  int length = 0;
  for (const SlotRange& range : path) length += range.count;
  EXPECT_EQ(length, 18);
  EXPECT_EQ(HalfToFloat(kv.Keys<uint16_t>(0, 1)[(1 * kHeadSize + 3) * 16 + 1]), 0.5f);
}

// Every number of every layer, head, slot and dimension has an address of its own, inside the bytes the sizes promise.
template <typename T>
void ExpectDistinctAddresses(KvFormat format) {
  Memory memory(format);
  std::set<const T*> keys, values;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int head = 0; head < kHeads; ++head) {
      for (int slot = 0; slot < kSlots; ++slot) {
        for (int d = 0; d < kHeadSize; ++d) {
          keys.insert(memory.view.Keys<T>(layer, head) + memory.view.KeyIndex(slot, d));
          values.insert(memory.view.Values<T>(layer, head) + memory.view.ValueIndex(slot, d));
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), size_t{kLayers * kHeads * kSlots * kHeadSize});
  EXPECT_EQ(values.size(), keys.size());
  EXPECT_GE(reinterpret_cast<const std::byte*>(*keys.begin()), memory.keys.data());
  EXPECT_LE(reinterpret_cast<const std::byte*>(*keys.rbegin() + 1), memory.keys.data() + memory.keys.size());
  EXPECT_GE(reinterpret_cast<const std::byte*>(*values.begin()), memory.values.data());
  EXPECT_LE(reinterpret_cast<const std::byte*>(*values.rbegin() + 1), memory.values.data() + memory.values.size());
}

TEST(KvView, EveryHalfHasAnAddressOfItsOwn) { ExpectDistinctAddresses<uint16_t>(KvFormat::kHalf); }
TEST(KvView, EveryCodeAndScaleHasAnAddressOfItsOwn) {
  ExpectDistinctAddresses<int8_t>(KvFormat::kInt8);
  const Memory memory(KvFormat::kInt8);
  std::set<const std::byte*> bytes;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int head = 0; head < kHeads; ++head) {
      for (int i = 0; i < kSlots * kHeadSize; ++i) bytes.insert(memory.view.Keys<std::byte>(layer, head) + i);
      for (int i = 0; i < kSlots * 32; ++i) bytes.insert(memory.view.Values<std::byte>(layer, head) + i);
      for (const float* scales : {memory.view.KeyScales(layer, head), memory.view.ValueScales(layer, head)}) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(scales) % alignof(float), 0u);
        for (int i = 0; i < 4 * kSlots; ++i) bytes.insert(reinterpret_cast<const std::byte*>(scales) + i);
      }
    }
  }
  EXPECT_EQ(bytes.size(), memory.keys.size() + memory.values.size()) << "no gap, and nothing twice";
}
TEST(KvView, EveryFloatHasAnAddressOfItsOwn) { ExpectDistinctAddresses<float>(KvFormat::kFloat); }

TEST(KvView, SixteenPositionsOfADimensionLieSideBySide) {
  const Memory memory(KvFormat::kFloat);
  for (int d = 0; d < kHeadSize; ++d) {
    for (int slot = 16; slot < 32; ++slot) EXPECT_EQ(memory.view.KeyIndex(slot, d), memory.view.KeyIndex(16, d) + slot - 16);
    EXPECT_EQ(memory.view.KeyIndex(16, d) % 16, 0);
  }
}

TEST(KvView, ValuesOfAPositionAreContiguousAndPadded) {
  const Memory memory(KvFormat::kFloat);
  EXPECT_EQ(KvView::ValueStride(kHeadSize), 32);
  EXPECT_EQ(KvView::ValueStride(64), 64);
  for (int d = 0; d < kHeadSize; ++d) EXPECT_EQ(memory.view.ValueIndex(5, d), 5 * 32 + d);
}

TEST(KvView, SizesOfALargeCacheDoNotWrap) {
  EXPECT_EQ(KvView::KeyBytes(KvFormat::kFloat, 128, 256, int64_t{1} << 20), int64_t{128} * 256 * 4 << 20);
  EXPECT_EQ(KvView::ValueBytes(KvFormat::kHalf, 128, 250, int64_t{1} << 20), int64_t{128} * 256 * 2 << 20);
}

}  // namespace
}  // namespace tessera
