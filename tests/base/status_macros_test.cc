#include "tessera/base/status_macros.h"

#include <memory>

#include "gtest/gtest.h"
#include "tessera/base/checked_math.h"

namespace tessera {
namespace {

constexpr int64_t kLargestPanel = 1000;

absl::Status CheckBelow(int64_t value, int64_t limit) {
  return value < limit ? absl::OkStatus() : absl::OutOfRangeError("too large a panel");
}

absl::StatusOr<int64_t> PanelBytes(int64_t rows, int64_t columns) {
  ASSIGN_OR_RETURN(const int64_t values, CheckedMul(rows, columns));
  RETURN_IF_ERROR(CheckBelow(values, kLargestPanel));
  return values;
}

TEST(StatusMacros, HeaderExample) {
  EXPECT_EQ(*PanelBytes(3, 4), 12);
  EXPECT_EQ(PanelBytes(-1, 4).status(), CheckedMul(-1, 4).status());
  EXPECT_EQ(PanelBytes(1000, 4).status().message(), "too large a panel");
}

absl::StatusOr<std::unique_ptr<int>> MakeOwned(int value) { return std::make_unique<int>(value); }

absl::StatusOr<int> SumOfTwo() {
  ASSIGN_OR_RETURN(std::unique_ptr<int> a, MakeOwned(2));
  ASSIGN_OR_RETURN(std::unique_ptr<int> b, MakeOwned(3));
  return *a + *b;
}

TEST(StatusMacros, MovesMoveOnlyValuesAndMayBeUsedTwiceInAScope) { EXPECT_EQ(*SumOfTwo(), 5); }

}  // namespace
}  // namespace tessera
