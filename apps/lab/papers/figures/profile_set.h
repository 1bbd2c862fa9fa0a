// All built-in phones together, and the same phones with one parameter changed, as comparisons need them repeatedly.
//
//   ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
//   const ProfileSet slower = Times(profiles, "dma_bytes_per_second", 0.5);           // in all of them
//   for (const MovedParameter& moved : FittedParameters(profiles)) Print(moved.name, moved.devices.size());
//
// Plain data and pure functions: thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/npu/device_profile.h"

namespace tessera {

using ProfileSet = std::map<std::string, DeviceProfile>;   // By the names of built-in ones.

absl::StatusOr<ProfileSet> BuiltInProfiles();

// Multiplies the parameter of these devices by a factor; of all devices for an empty list. REQUIRES: the name of a ProfileField.
ProfileSet Times(ProfileSet profiles, absl::string_view name, double factor, const std::vector<std::string>& devices = {});

// Sets the parameter to the least or the most of its range, in each profile that assumes the parameter. REQUIRES: as Times.
enum class RangeEnd { kLow, kHigh };
ProfileSet AtEnd(ProfileSet profiles, absl::string_view name, RangeEnd end);

// Returns the names of parameters that some profile assumes, in the order of ProfileFields().
std::vector<std::string> AssumedParameters(const ProfileSet& profiles);

// A parameter that was fitted (scripts/npu/fit_profiles.py). One for all phones; or, if only some phones' was fitted, one for each of these
// phones.
struct MovedParameter {
  std::string name = {};
  std::vector<std::string> devices = {};
};
std::vector<MovedParameter> FittedParameters(const ProfileSet& profiles);

}  // namespace tessera
