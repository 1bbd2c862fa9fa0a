// Adapters of random numbers, which change what a model says.
//
//   const LoraAdapter adapter = RandomAdapter(config, /*rank=*/4, kAllTargets, /*seed=*/1);
//
// Pure.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/model/files/config.h"
#include "tessera/model/lora.h"
#include "tessera/quant/block_format.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

inline constexpr unsigned kAllTargets = (1u << kLoraTargets) - 1;

// As the format holds them.
inline void RoundTo(BlockFormat format, std::vector<float>& numbers) {
  const int64_t count = static_cast<int64_t>(numbers.size());
  std::vector<std::byte> rounded(numbers.size() * static_cast<size_t>(InfoOf(format).bytes_per_block));
  InfoOf(format).quantize(numbers.data(), count, rounded.data());
  InfoOf(format).dequantize(rounded.data(), count, numbers.data());
}

// Random A and B that change a product by about as much as it is. targets: bit t for LoraTarget t. format: kF32, kF16 or kBF16, in which
// they are kept.
inline LoraAdapter RandomAdapter(const ModelConfig& config, int rank, unsigned targets, uint64_t seed, float scale = 1,
                                 BlockFormat format = BlockFormat::kF32) {
  SeededRandom random(seed);
  const int layers = static_cast<int>(config.layers.size());
  LoraAdapter adapter = Must(LoraAdapter::Create(layers, kLoraTargets));
  for (int layer = 0; layer < layers; ++layer) {
    for (int t = 0; t < kLoraTargets; ++t) {
      if ((targets >> t & 1) == 0) continue;
      const auto [in, out] = LoraShapeOf(config, static_cast<LoraTarget>(t));
      LoraMatrices matrices = {.in = in, .out = out, .rank = rank, .scale = scale, .a = std::vector<float>(rank * in),
                               .b = std::vector<float>(rank * out)};
      for (float& a : matrices.a) a = static_cast<float>(random.Gaussian() / std::sqrt(in));
      for (float& b : matrices.b) b = static_cast<float>(random.Gaussian() / std::sqrt(rank));
      RoundTo(format, matrices.a);
      RoundTo(format, matrices.b);
      Must(adapter.Set(layer, t, std::move(matrices)));
    }
  }
  return adapter;
}

}  // namespace tessera
