// --seed: a number, or "random".
//
//   ASSIGN_OR_RETURN(const uint64_t seed, SeedOfFlag());
//
// Threads: one at a time.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace tessera {

// "random" is one number for the whole run; the first call says which on standard error, so that the run can be repeated. WrongUsage for
// what is neither.
absl::StatusOr<uint64_t> SeedOfFlag();

}  // namespace tessera
