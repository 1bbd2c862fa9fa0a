// All phones together, with one parameter changed: that one alone, where it was to be, and which ones are assumed or fitted.
#include "tessera/apps/lab/papers/figures/profile_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

// Names of the parameters in which two phones differ.
std::set<std::string> Differences(const DeviceProfile& a, const DeviceProfile& b) {
  std::set<std::string> names;
  for (const ProfileField& field : ProfileFields()) {
    if (a.*field.value != b.*field.value) names.insert(field.name);
  }
  return names;
}

TEST(ProfileSet, HeaderExample) {
  const ProfileSet slower = Times(Profiles(), "dma_bytes_per_second", 0.5);
  for (const auto& [name, profile] : slower) {
    EXPECT_EQ(profile.dma_bytes_per_second, 0.5 * Profiles().at(name).dma_bytes_per_second) << name;
  }
  int devices = 0;
  for (const MovedParameter& moved : FittedParameters(Profiles())) devices += static_cast<int>(moved.devices.size());
  EXPECT_GT(devices, 0);
}

TEST(ProfileSet, HasAllBuiltInPhonesByTheirNames) {
  std::vector<std::string> names;
  for (const auto& [name, profile] : Profiles()) {
    EXPECT_EQ(profile.name, name);
    names.push_back(name);
  }
  std::vector<std::string> expected = DeviceProfileNames();
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);
}

TEST(ProfileSet, OneParameterIsChangedOnTheNamedDevices) {
  const ProfileSet changed = Times(Profiles(), "call_seconds", 1.1, {"8gen2", "8elite"});
  for (const auto& [name, profile] : changed) {
    const bool asked = name == "8gen2" || name == "8elite";
    EXPECT_EQ(Differences(profile, Profiles().at(name)), asked ? std::set<std::string>{"call_seconds"} : std::set<std::string>{}) << name;
  }
}

TEST(ProfileSet, OnlyAssumedParametersMoveToTheEndsOfTheirRanges) {
  const std::vector<std::string> assumed = AssumedParameters(Profiles());
  EXPECT_GT(assumed.size(), 5u);
  for (const std::string& parameter : assumed) {
    const ProfileSet low = AtEnd(Profiles(), parameter, RangeEnd::kLow), high = AtEnd(Profiles(), parameter, RangeEnd::kHigh);
    const auto field = std::find_if(ProfileFields().begin(), ProfileFields().end(),
                                    [&](const ProfileField& item) { return parameter == item.name; });
    ASSERT_NE(field, ProfileFields().end()) << parameter;
    for (const auto& [name, profile] : Profiles()) {
      const ProfileFact& fact = profile.facts.at(parameter);
      const double value = profile.*field->value;
      EXPECT_EQ(low.at(name).*field->value, fact.assumed ? fact.low : value) << name << " " << parameter;
      EXPECT_EQ(high.at(name).*field->value, fact.assumed ? fact.high : value) << name << " " << parameter;
      EXPECT_LE(Differences(low.at(name), profile).size(), fact.assumed ? 1u : 0u) << name << " " << parameter;
    }
  }
}

TEST(ProfileSet, AParameterWasFittedForAllPhonesOrForEachByItself) {
  for (const MovedParameter& moved : FittedParameters(Profiles())) {
    EXPECT_TRUE(moved.devices.size() == Profiles().size() || moved.devices.size() == 1) << moved.name;
    for (const std::string& device : moved.devices) EXPECT_TRUE(Profiles().at(device).facts.at(moved.name).fitted) << moved.name;
  }
}

}  // namespace
}  // namespace tessera
