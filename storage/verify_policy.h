// How often blocks of a .tsr file are compared with their checksums.
//
//   ASSIGN_OR_RETURN(VerifyPolicy policy, ParseVerifyPolicy("first"));
//
// docs/storage.md says what each leaves uncovered. A pure function.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Each when it is read for the first time, each time, or none.
enum class VerifyPolicy { kFirst, kAlways, kNever };

// "first", "always" or "never"; else WrongUsage (verify) with these names.
absl::StatusOr<VerifyPolicy> ParseVerifyPolicy(absl::string_view name);

}  // namespace tessera
