// Checks how a reader refuses outside input: with words that people can read, which begin with the name of the refused input.
//
//   const auto profile = ParseFlashProfile(text, "flash");
//   if (!profile.ok()) return Refused(profile.status(), "flash: ");
//
// Pure functions.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"

namespace tessera {

// Returns the refusal. CHECKs that it is a refusal of the input, begins with the name, and can be shown.
inline absl::Status Refused(const absl::Status& status, absl::string_view name) {
  CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) || absl::IsDataLoss(status)) << status;
  CHECK(absl::StartsWith(status.message(), name)) << status << ", expected " << name;
  CHECK(Printable(status.message()) == status.message()) << status;
  return status;
}

}  // namespace tessera
