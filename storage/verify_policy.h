// Chooses how often blocks of a .tsr file are compared with their checksums.
//
//   ASSIGN_OR_RETURN(VerifyPolicy policy, ParseVerifyPolicy("first"));
//
// docs/storage.md tells which damage each policy leaves uncovered. A pure function.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Each block at its first read, at each read, or no block.
enum class VerifyPolicy { kFirst, kAlways, kNever };

// Parses "first", "always" or "never". Any other name is WrongUsage (verify) with these names.
absl::StatusOr<VerifyPolicy> ParseVerifyPolicy(absl::string_view name);

}  // namespace tessera
