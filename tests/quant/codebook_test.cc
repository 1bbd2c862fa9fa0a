#include "tessera/quant/codebook.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(Codebook, HeaderExample) {
  constexpr int code = 15;
  int value = kIq4NlCodebook[code];
  alignas(16) constexpr UnsignedCodebook table = ShiftedBy128(kIq4NlCodebook);
  EXPECT_EQ(value, 113);
  EXPECT_EQ(table[code], 241);
  EXPECT_EQ(table[0], 1);
}

TEST(Codebook, NumbersAscendSoThatANearestOneCanBeSought) {
  for (size_t code = 1; code < kIq4NlCodebook.size(); ++code) EXPECT_LT(kIq4NlCodebook[code - 1], kIq4NlCodebook[code]);
}

}  // namespace
}  // namespace tessera
