#include "tessera/runtime/engine/switching/measure_switching.h"

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

// What is planned with is what happens: one load for each block, also where it is the last one, which has keys and values of its own.
TEST(MeasureSwitchTimes, ABlockLoadsInTheTimeThatWasMeasured) {
  for (const int blocks : {1, 2, 3, 6}) {
    SwitchingPhone phone(SwitchRule::kPlanned, /*load=*/1, blocks);
    const std::vector<SwitchTimes> times = Must(MeasureSwitchTimes(*phone.engine));
    const ModeledDevice::Spent before = phone.device->spent();
    double expected = 0;
    for (const SwitchTimes& block : times) expected += block.load_seconds;
    Must(phone.motion().SwitchAll());
    EXPECT_EQ(phone.device->spent().loads - before.loads, blocks);
    EXPECT_NEAR(phone.device->spent().load_seconds - before.load_seconds, expected, 1e-9) << blocks << " blocks";
    EXPECT_GE(expected, blocks * phone.device->profile().load_seconds);
    EXPECT_LT(expected, (blocks + 0.5) * phone.device->profile().load_seconds) << "a tiny model: bytes take next to nothing";
  }
}

}  // namespace
}  // namespace tessera
