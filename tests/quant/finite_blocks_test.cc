#include "tessera/quant/finite_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {
namespace {

TEST(FiniteBlocks, HeaderExample) {
  std::vector<std::byte> bytes(3 * 18);
  bytes[2 * 18 + 1] = std::byte{0x7c};  // The scale of the third block is infinite.
  int64_t count = 0, offset = 0;
  const auto Report = [&](int64_t blocks, int64_t first_byte) { count = blocks, offset = first_byte; };
  const NotFiniteBlocks bad = FindNotFinite(BlockFormat::kQ4_0, bytes);
  if (bad.count > 0) Report(bad.count, bad.first * InfoOf(BlockFormat::kQ4_0).bytes_per_block);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(offset, 36);
}

bool DequantizesToNumbers(const BlockFormatInfo& info, const std::vector<std::byte>& block) {
  std::vector<float> values(info.values_per_block);
  info.dequantize(block.data(), info.values_per_block, values.data());
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// A block of any bytes is found if, and only if, it has a value that is NaN or infinite.
TEST(FiniteBlocks, FindsExactlyTheBlocksWithAValueThatIsNoNumber) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    SCOPED_TRACE(info.name);
    SeededRandom random(5);
    int found = 0;
    const uint8_t exponents[] = {0x7c, 0xfc, 0x7f, 0xff, 0x80, 0x00};  // Exponents of infinities and NaN in all widths, and of none.
    for (int round = 0; round < 3000; ++round) {
      std::vector<std::byte> block = WildBlocks(info.format, info.values_per_block, round + 1);
      if (round % 5 == 0) PutHalf(info.format, static_cast<uint16_t>(exponents[random.Below(6)] << 8), block.data());
      const int at = round % info.bytes_per_block;
      block[at] = static_cast<std::byte>(exponents[random.Below(6)]);
      if (at > 0) block[at - 1] = static_cast<std::byte>(exponents[random.Below(6)]);
      const NotFiniteBlocks bad = FindNotFinite(info.format, block);
      ASSERT_EQ(bad.count == 0, DequantizesToNumbers(info, block)) << "round " << round;
      found += static_cast<int>(bad.count);
    }
    if (info.format == BlockFormat::kNVFP4) {
      EXPECT_EQ(found, 0) << "each of its scales is a number";
      continue;
    }
    EXPECT_GT(found, 5);
    EXPECT_LT(found, 2500);
  }
}

TEST(FiniteBlocks, CountsAllAndNamesTheFirst) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.format == BlockFormat::kNVFP4) continue;
    SCOPED_TRACE(info.name);
    std::vector<std::byte> bytes = RandomBlocks(info.format, 100 * int64_t{info.values_per_block}, 3);
    EXPECT_EQ(FindNotFinite(info.format, bytes).count, 0);
    EXPECT_EQ(FindNotFinite(info.format, bytes).first, -1);
    for (const int block : {97, 41, 42}) {
      for (int i = 0; i < info.bytes_per_block; ++i)
        bytes[block * info.bytes_per_block + i] = std::byte{0x7f};  // Every scale a NaN.
      if (info.format == BlockFormat::kF32) bytes[block * 4 + 2] = std::byte{0xff};
      if (info.format == BlockFormat::kBF16) bytes[block * 2] = std::byte{0xff};
      if (info.format == BlockFormat::kIQ1_M) PutHalf(info.format, 0x7fff, &bytes[block * info.bytes_per_block]);
      if (info.format == BlockFormat::kMXFP4) bytes[block * info.bytes_per_block] = std::byte{0xff};  // Its codes stand for +12.
    }
    EXPECT_EQ(FindNotFinite(info.format, bytes).count, 3);
    EXPECT_EQ(FindNotFinite(info.format, bytes).first, 41);
    EXPECT_EQ(FindNotFinite(info.format, {}).count, 0);
  }
}

}  // namespace
}  // namespace tessera
