#include "tessera/apps/cli/flags/seed_flag.h"

#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

uint64_t DrawSeed() {
  const uint32_t seed = std::random_device()();  // 32 bits: short enough to type again.
  WriteError(absl::StrCat("The seed is ", seed, "; --seed=", seed, " repeats this run.\n"));
  return seed;
}

}  // namespace

absl::StatusOr<uint64_t> SeedOfFlag() {
  if (FLAGS_seed == "random") {
    static const uint64_t drawn = DrawSeed();
    return drawn;
  }
  uint64_t seed;
  if (absl::SimpleAtoi(FLAGS_seed, &seed)) return seed;
  return WrongUsage("seed", Quoted(FLAGS_seed), "a whole number, 0 and up, or random");
}

void DrawSeedUnlessGiven() {
  if (!IsGiven("seed")) FLAGS_seed = "random";
}

}  // namespace tessera
