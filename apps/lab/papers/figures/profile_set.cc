#include "tessera/apps/lab/papers/figures/profile_set.h"

#include <algorithm>
#include <utility>

#include <glog/logging.h>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

double DeviceProfile::* PlaceOf(absl::string_view name) {
  const absl::Span<const ProfileField> fields = ProfileFields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const ProfileField& field) { return name == field.name; });
  CHECK(found != fields.end()) << "no parameter of profiles: " << name;
  return found->value;
}

}  // namespace

absl::StatusOr<ProfileSet> BuiltInProfiles() {
  ProfileSet profiles;
  for (const std::string& name : DeviceProfileNames()) {
    ASSIGN_OR_RETURN(profiles[name], LoadDeviceProfile(name));
  }
  return profiles;
}

ProfileSet Times(ProfileSet profiles, absl::string_view name, double factor, const std::vector<std::string>& devices) {
  double DeviceProfile::* const place = PlaceOf(name);
  for (auto& [device, profile] : profiles) {
    if (devices.empty() || std::find(devices.begin(), devices.end(), device) != devices.end()) profile.*place *= factor;
  }
  return profiles;
}

ProfileSet AtEnd(ProfileSet profiles, absl::string_view name, RangeEnd end) {
  double DeviceProfile::* const place = PlaceOf(name);
  for (auto& [device, profile] : profiles) {
    const ProfileFact& fact = profile.facts.at(std::string(name));
    if (fact.assumed) profile.*place = end == RangeEnd::kLow ? fact.low : fact.high;
  }
  return profiles;
}

std::vector<std::string> AssumedParameters(const ProfileSet& profiles) {
  std::vector<std::string> names;
  for (const ProfileField& field : ProfileFields()) {
    const auto assumes = [&](const auto& entry) { return entry.second.facts.at(field.name).assumed; };
    if (std::any_of(profiles.begin(), profiles.end(), assumes)) names.push_back(field.name);
  }
  return names;
}

std::vector<MovedParameter> FittedParameters(const ProfileSet& profiles) {
  std::vector<MovedParameter> all;
  for (const ProfileField& field : ProfileFields()) {
    MovedParameter moved = {.name = field.name};
    for (const auto& [device, profile] : profiles) {
      if (profile.facts.at(field.name).fitted) moved.devices.push_back(device);
    }
    if (moved.devices.empty()) continue;
    if (moved.devices.size() == profiles.size()) {
      all.push_back(std::move(moved));
    } else {
      for (const std::string& device : moved.devices) all.push_back({.name = field.name, .devices = {device}});
    }
  }
  return all;
}

}  // namespace tessera
