// All built-in phones together, and the same phones with one parameter changed: what a comparison asks again and again.
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

// The parameter of these devices times a factor; of all for an empty list. REQUIRES: the name of a ProfileField.
ProfileSet Times(ProfileSet profiles, absl::string_view name, double factor, const std::vector<std::string>& devices = {});

// The parameter at the least or the most that it may be, in each profile that assumes it. REQUIRES: as Times.
enum class RangeEnd { kLow, kHigh };
ProfileSet AtEnd(ProfileSet profiles, absl::string_view name, RangeEnd end);

// The names of those that some profile assumes, in the order of ProfileFields().
std::vector<std::string> AssumedParameters(const ProfileSet& profiles);

// Parameters that were fitted (scripts/npu/fit_profiles.py): one for all phones, or where only some phones' was, one for each of these.
struct MovedParameter {
  std::string name = {};
  std::vector<std::string> devices = {};
};
std::vector<MovedParameter> FittedParameters(const ProfileSet& profiles);

}  // namespace tessera
