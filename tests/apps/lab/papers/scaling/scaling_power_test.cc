// Power and energy of passes: sums by hand, and ranges that hold whatever powers a profile allows.
#include "tessera/apps/lab/papers/scaling/scaling_power.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/match.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

PassCost PassOf(double seconds, double matrix, double vector, double dma, double cpu) {
  PassCost pass;
  pass.seconds = seconds;
  pass.busy[static_cast<size_t>(Bound::kMatrix)] = matrix;
  pass.busy[static_cast<size_t>(Bound::kVector)] = vector;
  pass.busy[static_cast<size_t>(Bound::kDma)] = dma;
  pass.busy[static_cast<size_t>(Bound::kCpu)] = cpu;
  return pass;
}

DeviceProfile Profile() { return Must(LoadDeviceProfile("8gen3")); }

double JoulesByHand(const PassCost& pass, const DeviceProfile& profile) {
  const auto busy = [&](Bound part) { return pass.busy[static_cast<size_t>(part)]; };
  return pass.seconds * profile.idle_watts + busy(Bound::kMatrix) * profile.matrix_watts + busy(Bound::kVector) * profile.vector_watts +
         busy(Bound::kDma) * profile.dma_watts + busy(Bound::kCpu) * profile.cpu_watts;
}

TEST(ScalingPower, HeaderExample) {
  const DeviceProfile profile = Profile();
  const PassCost small_pass = PassOf(0.05, 0.01, 0.02, 0.02, 0.01), large_pass = PassOf(0.1, 0.03, 0.04, 0.04, 0.01);
  const PowerRange watts = PowerOf(small_pass, profile);
  const PowerRange ratio = EnergyRatioOf(small_pass, large_pass, profile);
  EXPECT_NEAR(watts.value, JoulesByHand(small_pass, profile) / 0.05, 1e-12);
  EXPECT_NEAR(ratio.value, JoulesByHand(small_pass, profile) / JoulesByHand(large_pass, profile), 1e-12);
  EXPECT_LT(watts.low, watts.value);
  EXPECT_GT(watts.high, watts.value);
  EXPECT_LT(ratio.low, ratio.high);
}

TEST(ScalingPower, RangesHoldForPowersInBetween) {
  const DeviceProfile profile = Profile();
  const PassCost one = PassOf(0.05, 0.01, 0.02, 0.02, 0.001), other = PassOf(0.06, 0.01, 0.02, 0.02, 0.03);
  const PowerRange watts = PowerOf(one, profile), ratio = EnergyRatioOf(one, other, profile);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    DeviceProfile changed = profile;
    for (const ProfileField& field : ProfileFields()) {
      if (!absl::EndsWith(field.name, "_watts")) continue;
      const ProfileFact& fact = profile.facts.at(field.name);
      changed.*field.value = std::uniform_real_distribution<double>(fact.low, fact.high)(random);
    }
    EXPECT_GE(JoulesByHand(one, changed) / one.seconds, watts.low);
    EXPECT_LE(JoulesByHand(one, changed) / one.seconds, watts.high);
    EXPECT_GE(JoulesByHand(one, changed) / JoulesByHand(other, changed), ratio.low);
    EXPECT_LE(JoulesByHand(one, changed) / JoulesByHand(other, changed), ratio.high);
  }
}

TEST(ScalingPower, PowersThatAreKnownDoNotMove) {
  DeviceProfile profile = Profile();
  for (auto& [name, fact] : profile.facts) fact.assumed = false;
  const PassCost pass = PassOf(0.05, 0.01, 0.02, 0.02, 0.001);
  EXPECT_EQ(PowerOf(pass, profile).low, PowerOf(pass, profile).value);
  EXPECT_EQ(PowerOf(pass, profile).high, PowerOf(pass, profile).value);
  EXPECT_EQ(EnergyRatioOf(pass, pass, profile).value, 1);
}

}  // namespace
}  // namespace tessera
