#include "tessera/base/checked_math.h"

#include <limits>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

absl::StatusOr<int64_t> Example(int64_t rows, int64_t row_bytes) {
  ASSIGN_OR_RETURN(int64_t bytes, CheckedMul(rows, row_bytes));
  ASSIGN_OR_RETURN(int64_t padded, CheckedAlignUp(bytes, 4096));
  return padded;
}

TEST(CheckedMath, HeaderExample) {
  EXPECT_EQ(*Example(3, 2000), 8192);
  EXPECT_TRUE(absl::IsOutOfRange(Example(kMost, 2).status()));
  EXPECT_TRUE(absl::IsOutOfRange(Example(kMost, 1).status()));
}

TEST(CheckedMath, ErrorsNameBothNumbers) {
  const std::string message = CheckedMul(int64_t{1} << 62, 3).status().ToString();
  EXPECT_NE(message.find("4611686018427387904 x 3"), std::string::npos) << message;
}

TEST(CheckedMath, TheLargestSizesThatFitAreExact) {
  EXPECT_EQ(*CheckedMul(kMost, 1), kMost);
  EXPECT_EQ(*CheckedMul(kMost, 0), 0);
  EXPECT_EQ(*CheckedAdd(kMost - 5, 5), kMost);
  EXPECT_EQ(*CheckedAlignUp(kMost - 4095, 4096), kMost - 4095);
  EXPECT_FALSE(CheckedAdd(kMost, 1).ok());
  EXPECT_FALSE(CheckedAlignUp(kMost - 4094, 4096).ok());
}

TEST(CheckedMath, NegativeSizesAreErrors) {
  EXPECT_FALSE(CheckedMul(-1, 1).ok());
  EXPECT_FALSE(CheckedMul(-1, -1).ok());
  EXPECT_FALSE(CheckedAdd(5, -1).ok());
  EXPECT_FALSE(CheckedAlignUp(-1, 8).ok());
}

TEST(CheckedMath, RoundsUpWithoutOverflow) {
  EXPECT_EQ(CeilDiv(0, 32), 0);
  EXPECT_EQ(CeilDiv(33, 32), 2);
  EXPECT_EQ(CeilDiv(kMost, kMost), 1);
  EXPECT_EQ(AlignUp(1, 64), 64);
  EXPECT_EQ(AlignUp(64, 64), 64);
}

}  // namespace
}  // namespace tessera
