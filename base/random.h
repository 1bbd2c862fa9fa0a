// Random numbers as a pure function: draw `index` of stream `stream` under `seed`, in any order.
//
//   double u = CounterUniform(seed, /*stream=*/sample, /*index=*/token);   // the draw that picks this token of this sample
//   SeededRandom random(7);                                                // a sequence, for tests
//   int64_t row = random.Below(rows);
//
// No state is stored, so sampling depends neither on other draws nor on the thread. Each input passes through the SplitMix64 finalizer
// (Steele, Lea, Flood 2014; Stafford's constants). Not for secrets.
//
// Threads: the functions are thread-safe, SeededRandom is thread-compatible.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// Performs one SplitMix64 step: a bijection in which every input bit affects every output bit. 0 does not map to 0.
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio.
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Returns 64 random bits. Each input is mixed in separately, so that (seed, stream) and (stream, seed) are unrelated.
constexpr uint64_t CounterRandom(uint64_t seed, uint64_t stream, uint64_t index) {
  return MixBits(MixBits(MixBits(seed) ^ stream) ^ index);
}

// Returns a multiple of 2^-53 in [0, 1).
constexpr double CounterUniform(uint64_t seed, uint64_t stream, uint64_t index) {
  return static_cast<double>(CounterRandom(seed, stream, index) >> 11) * 0x1p-53;
}

// A sequence that is equal on every machine: Next() number i is CounterRandom(seed, 0, i).
class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : seed_(seed) {}

  uint64_t Next() { return CounterRandom(seed_, 0, index_++); }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // In [0, 1).
  float Uniform(float low, float high) { return low + (high - low) * static_cast<float>(Uniform()); }

  // Returns a uniform number in [0, n), without bias. REQUIRES: n > 0.
  int64_t Below(int64_t n);

  // Returns nearly a normal variable with mean 0 and variance 1, in (-6, 6): a sum of 12 uniform variables, without any libm.
  double Gaussian() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

 private:
  uint64_t seed_;
  uint64_t index_ = 0;
};

}  // namespace tessera
