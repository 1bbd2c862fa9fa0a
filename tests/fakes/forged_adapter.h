// Makes adapters that earlier versions took for another adapter: both have the same 64-bit number. The number took two steps of arithmetic
// for each word, which run backwards as easily as forwards. So an attacker may choose half of the words and compute the rest.
//
//   const LoraAdapter forged = ForgedAdapter(config, /*rank=*/4, /*seed=*/1, /*forgery=*/5);   // RandomAdapter's with this seed, FP16
//
// CHECKs that the numbers are really the same. Pure.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "glog/logging.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/model/lora.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_adapter.h"

namespace tessera {

inline constexpr size_t kOldChains = 8;

// A step of a chain, as in those versions. Words took the chains in turn.
inline uint64_t OldChained(uint64_t chain, uint64_t word) {
  chain = (chain ^ word) * 0xBF58476D1CE4E5B9u;
  return (chain ^ chain >> 32) * 0x94D049BB133111EBu;
}

// Returns the ends of all chains. The number was made of these ends and the size.
inline std::vector<uint64_t> OldChains(const std::vector<uint64_t>& words) {
  std::vector<uint64_t> chains = {1, 2, 3, 4, 5, 6, 7, 8};
  for (size_t i = 0; i < words.size(); ++i) chains[i % kOldChains] = OldChained(chains[i % kOldChains], words[i]);
  return chains;
}

inline bool HasSmallHalves(uint64_t word) {
  for (int half = 0; half < 4; ++half) {
    if (!(std::abs(HalfToFloat(static_cast<uint16_t>(word >> 16 * half))) < 2)) return false;   // NaN, too.
  }
  return true;
}

// Returns other halves whose chains end like the chains of `words`: of each two words of a chain, the first is random and the second
// follows.
inline std::vector<uint64_t> ForgedWords(const std::vector<uint64_t>& words, SeededRandom& random) {
  std::vector<uint64_t> forged = words;
  for (size_t i = 0; i + kOldChains < words.size(); ++i) {
    if (i / kOldChains % 2 != 0) continue;   // The second of two words.
    uint64_t chain = i % kOldChains + 1;
    for (size_t before = i % kOldChains; before < i; before += kOldChains) chain = OldChained(chain, words[before]);
    do {
      forged[i] = 0;
      for (int half = 0; half < 4; ++half) forged[i] |= uint64_t{FloatToHalf(static_cast<float>(random.Uniform(-1, 1)))} << 16 * half;
      forged[i + kOldChains] = words[i + kOldChains] ^ OldChained(chain, words[i]) ^ OldChained(chain, forged[i]);
    } while (!HasSmallHalves(forged[i + kOldChains]));
  }
  CHECK(OldChains(forged) == OldChains(words) && forged != words) << "no forgery";
  return forged;
}

inline LoraAdapter ForgedAdapter(const ModelConfig& config, int rank, uint64_t seed, uint64_t forgery) {
  const LoraAdapter of = RandomAdapter(config, rank, kAllTargets, seed, /*scale=*/1, BlockFormat::kF16);
  LoraAdapter forged = Must(LoraAdapter::Create(of.layers(), of.placeholders()));
  SeededRandom random(forgery);
  for (int place = 0; place < of.layers() * of.placeholders(); ++place) {
    const AdapterProduct& product = of.Layer(place / of.placeholders())[static_cast<size_t>(place % of.placeholders())];
    const auto [in, out] = of.shape(place);
    std::vector<uint64_t> words(static_cast<size_t>(rank * in) * 2 / sizeof(uint64_t));
    CHECK_EQ(words.size() * sizeof(uint64_t), static_cast<size_t>(rank * in) * 2) << "whole words";
    std::memcpy(words.data(), product.a, words.size() * sizeof(uint64_t));
    words = ForgedWords(words, random);
    const auto* const a = reinterpret_cast<const std::byte*>(words.data());
    const auto* const b = static_cast<const std::byte*>(product.b);
    Must(forged.SetNumbers(place / of.placeholders(), place % of.placeholders(),
                           {.in = in, .out = out, .rank = rank, .scale = 1, .format = BlockFormat::kF16,
                            .a = {a, a + words.size() * sizeof(uint64_t)}, .b = {b, b + rank * out * 2}}));
  }
  return forged;
}

}  // namespace tessera
