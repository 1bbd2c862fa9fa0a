// --seed: a number, or "random".
//
//   if (FLAGS_chat && isatty(STDIN_FILENO) == 1) DrawSeedUnlessGiven();
//   ASSIGN_OR_RETURN(const uint64_t seed, SeedOfFlag());                   // "The seed is 7; --seed=7 repeats this run."
//
// Threads: one at a time.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace tessera {

// Returns the seed. "random" is one number for the whole run; the first call writes the number to standard error, so that the run can be
// repeated. WrongUsage for any other text.
absl::StatusOr<uint64_t> SeedOfFlag();

// Takes --seed=random where the flag is not given, so that each dialogue at a terminal differs. REQUIRES: SeedOfFlag was not called.
void DrawSeedUnlessGiven();

}  // namespace tessera
