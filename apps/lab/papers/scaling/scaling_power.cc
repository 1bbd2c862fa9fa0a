#include "tessera/apps/lab/papers/scaling/scaling_power.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"

namespace tessera {
namespace {

double JoulesOfPass(const PassCost& pass, const DeviceProfile& profile) {
  GraphCost cost = {.seconds = pass.seconds};
  std::copy(std::begin(pass.busy), std::end(pass.busy), std::begin(cost.busy));
  return JoulesOf(cost, profile);
}

std::vector<ProfileField> Powers() {
  std::vector<ProfileField> powers;
  for (const ProfileField& field : ProfileFields()) {
    if (absl::EndsWith(field.name, "_watts")) powers.push_back(field);
  }
  return powers;
}

PowerRange OverPowers(const DeviceProfile& profile, absl::FunctionRef<double(const DeviceProfile&)> value) {
  PowerRange range = {.value = value(profile)};
  range.low = range.high = range.value;
  const std::vector<ProfileField> powers = Powers();
  DeviceProfile changed = profile;
  for (size_t corner = 0; corner < size_t{1} << powers.size(); ++corner) {
    for (size_t i = 0; i < powers.size(); ++i) {
      const auto fact = profile.facts.find(powers[i].name);
      if (fact == profile.facts.end() || !fact->second.assumed) continue;
      changed.*powers[i].value = (corner >> i & 1) == 0 ? fact->second.low : fact->second.high;
    }
    const double found = value(changed);
    range.low = std::min(range.low, found);
    range.high = std::max(range.high, found);
  }
  return range;
}

}  // namespace

PowerRange PowerOf(const PassCost& pass, const DeviceProfile& profile) {
  return OverPowers(profile, [&](const DeviceProfile& powers) { return JoulesOfPass(pass, powers) / pass.seconds; });
}

PowerRange EnergyRatioOf(const PassCost& pass, const PassCost& beside, const DeviceProfile& profile) {
  return OverPowers(profile,
                    [&](const DeviceProfile& powers) { return JoulesOfPass(pass, powers) / JoulesOfPass(beside, powers); });
}

}  // namespace tessera
