#include "tessera/runtime/measure_switching.h"

#include <vector>

#include "gtest/gtest.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

TEST(MeasureSwitchTimes, HeaderExample) {
  SwitchingPhone phone(SwitchRule::kPlanned);
  const std::vector<SwitchTimes> times = Must(MeasureSwitchTimes(*phone.engine));
  EXPECT_TRUE(CoreOf(*phone.engine).motion()->SetTimes(times).ok());
  for (const SwitchTimes& block : times) {
    EXPECT_GT(block.prefill_seconds, 0);
    EXPECT_GT(block.load_seconds, 0);
    // A sub-chunk takes less than a chunk, and all sub-chunks of one take longer.
    EXPECT_LT(block.decode_seconds, block.prefill_seconds);
    EXPECT_GT(block.decode_seconds * kPrefillRows / kDecodeRows, block.prefill_seconds);
  }
}

// A virtual clock, so the same times to the digit.
TEST(MeasureSwitchTimes, AreTheSameAgain) {
  SwitchingPhone phone(SwitchRule::kPlanned);
  const std::vector<SwitchTimes> first = Must(MeasureSwitchTimes(*phone.engine)), second = Must(MeasureSwitchTimes(*phone.engine));
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i].prefill_seconds, second[i].prefill_seconds, 1e-9);
}

}  // namespace
}  // namespace tessera
