#include "tessera/quant/exp_table.h"

#include <cmath>
#include <set>

#include "gtest/gtest.h"
#include "tessera/base/half.h"

namespace tessera {
namespace {

constexpr uint16_t kOne = 0x3C00, kSmallestNormal = 0x0400;

TEST(ExpTable, HeaderExample) {
  const float score = 1.5f, largest = 2.5f;
  const ExpTable& table = ExpTable::Get();
  const uint16_t p = table.Of(FloatToHalf(score - largest));
  EXPECT_EQ(HalfToFloat(p), 0.5f);
}

// What other implementations of the table have, worked out from the formats alone.
TEST(ExpTable, HasTheEntriesThatItsDefinitionGives) {
  const ExpTable& table = ExpTable::Get();
  int ones = 0, non_zero = 0, subnormal = 0, last = 0;
  std::set<uint16_t> distinct;
  for (int i = 0; i <= 0x7C00; ++i) {
    const uint16_t entry = table.entries()[static_cast<size_t>(i)];
    ones += entry == kOne ? 1 : 0;
    non_zero += entry != 0 ? 1 : 0;
    subnormal += entry != 0 && entry < kSmallestNormal ? 1 : 0;
    if (entry != 0) last = i;
    distinct.insert(entry);
  }
  EXPECT_EQ(ones, 3526);
  EXPECT_EQ(non_zero, 20032);
  EXPECT_EQ(subnormal, 831);
  EXPECT_EQ(distinct.size(), 5219u);
  EXPECT_EQ(last, 0x4E3F);
  EXPECT_LT(table.entries()[0x0DC6], kOne);
  EXPECT_EQ(table.Of(0x8000), kOne);
  EXPECT_EQ(HalfToFloat(table.Of(0xCB00)), 0x1p-14f) << "-14";
}

TEST(ExpTable, FallsFromEachEntryToTheNext) {
  const ExpTable& table = ExpTable::Get();
  for (int i = 1; i <= 0x7C00; ++i) ASSERT_LE(table.entries()[static_cast<size_t>(i)], table.entries()[static_cast<size_t>(i - 1)]) << i;
}

// Rounded once: by long double, whose 64 bits leave no doubt but at ties, which are exact powers.
TEST(ExpTable, EachEntryIsThePowerRoundedOnce) {
  const ExpTable& table = ExpTable::Get();
  for (int i = 0; i < 0x7C00; ++i) {
    const long double exact = exp2l(HalfToFloat(static_cast<uint16_t>(i | 0x8000)));
    const uint16_t entry = table.entries()[static_cast<size_t>(i)];
    const long double below = HalfToFloat(entry == 0 ? entry : static_cast<uint16_t>(entry - 1)), at = HalfToFloat(entry);
    const long double above = HalfToFloat(static_cast<uint16_t>(entry + 1));
    ASSERT_TRUE(exact >= (below + at) / 2 && exact <= (at + above) / 2) << i;
  }
}

TEST(ExpTable, InfinityIsZeroAndNoNumberIsNone) {
  const ExpTable& table = ExpTable::Get();
  EXPECT_EQ(table.Of(0xFC00), 0);
  for (int i = 0x7C01; i < ExpTable::kEntries; ++i) {
    ASSERT_TRUE(std::isnan(HalfToFloat(table.entries()[static_cast<size_t>(i)]))) << i;
  }
}

}  // namespace
}  // namespace tessera
