// Random numbers in FP16 for adapters of benchmarks.
//
//   SeededRandom random(1);
//   const std::vector<std::byte> bytes = RandomHalves(/*count=*/4608, random);     // 2^-7 to 2^-3 of both signs
//
// Thread-safe (pure except for the generator).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/random.h"

namespace tessera {

std::vector<std::byte> RandomHalves(int64_t count, SeededRandom& random);

}  // namespace tessera
