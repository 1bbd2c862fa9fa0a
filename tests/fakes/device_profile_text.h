// Texts of device profiles, parameter by parameter.
//
//   const std::string text = DeviceProfileText("tcm_bytes") + ParameterText("tcm_bytes", "value: 0 source: 'none'");
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/npu/device_profile.h"

namespace tessera {

inline std::string ParameterText(absl::string_view name, absl::string_view rest) {
  return absl::StrCat("parameter { name: \"", name, "\" ", rest, " }\n");
}

// Returns a profile without the parameter `without`, in which each number is the maximum of its range, measured; modes "fast" and "slow".
inline std::string DeviceProfileText(absl::string_view without = "") {
  std::string text = "name: 'fake'\nchip: 'none'\n";
  for (const ProfileField& field : ProfileFields()) {
    if (field.name == without) continue;
    text += ParameterText(field.name, absl::StrCat("value: ", field.most, " source: 'the most'"));
  }
  text += "mode { name: 'fast' clock: 1 power: 1 source: 'a fake' }\n";
  text += "mode { name: 'slow' clock: 0.5 power: 0.25 source: 'a fake' }\n";
  return text;
}

}  // namespace tessera
