#include "tessera/quant/codebook.h"

#include "absl/types/span.h"
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

// What the search of IQ4_NL, T2 and T3 needs of the numbers that their codes stand for (quant/internal/formats/codebook_search.h).
TEST(Codebook, NumbersThatAreSearchedAscendFromTheLargestAndNoneIsZero) {
  for (const absl::Span<const int8_t> numbers : {absl::MakeConstSpan(kIq4NlCodebook), absl::MakeConstSpan(kT2Codebook).first(4),
                                                 absl::MakeConstSpan(kT3Codebook).first(8)}) {
    for (size_t code = 1; code < numbers.size(); ++code) EXPECT_LT(numbers[code - 1], numbers[code]);
    EXPECT_LT(numbers.back(), -numbers.front());
    for (const int8_t number : numbers) EXPECT_NE(number, 0);
  }
}

TEST(Codebook, EveryNumberPlus128IsAnUnsignedByte) {
  EXPECT_EQ(ShiftedBy128(kT2Codebook)[0], 0);
  EXPECT_EQ(ShiftedBy128(kT2Codebook)[3], 219);
  EXPECT_EQ(ShiftedBy128(kT3Codebook)[7], 234);
  EXPECT_EQ(ShiftedBy128(kT3Codebook)[15], 128) << "a code that is never used stands for zero";
}

}  // namespace
}  // namespace tessera
