// Adapters of random numbers, which change a model's output.
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

// Returns the shape of a small model for adapters that no model runs with.
inline ModelConfig SmallConfig(int layers) {
  ModelConfig config;
  config.layers.resize(static_cast<size_t>(layers));
  config.width = config.feed_forward = 64;
  config.heads = config.kv_heads = 4;
  config.head_size = 16;
  return config;
}

// Rounds numbers to the format.
inline std::vector<std::byte> RoundedTo(BlockFormat format, const std::vector<float>& numbers) {
  std::vector<std::byte> rounded(numbers.size() * static_cast<size_t>(InfoOf(format).bytes_per_block));
  InfoOf(format).quantize(numbers.data(), static_cast<int64_t>(numbers.size()), rounded.data());
  return rounded;
}

// Makes random A and B that change a product by about its own size. targets: bit t for LoraTarget t. format: kF32, kF16 or kBF16, the
// stored format.
inline LoraAdapter RandomAdapter(const ModelConfig& config, int rank, unsigned targets, uint64_t seed, float scale = 1,
                                 BlockFormat format = BlockFormat::kF32) {
  SeededRandom random(seed);
  const int layers = static_cast<int>(config.layers.size());
  LoraAdapter adapter = Must(LoraAdapter::Create(layers, kLoraTargets));
  for (int layer = 0; layer < layers; ++layer) {
    for (int t = 0; t < kLoraTargets; ++t) {
      if ((targets >> t & 1) == 0) continue;
      const auto [in, out] = LoraShapeOf(config, static_cast<LoraTarget>(t));
      std::vector<float> all_a(static_cast<size_t>(rank * in)), all_b(static_cast<size_t>(rank * out));
      for (float& a : all_a) a = static_cast<float>(random.Gaussian() / std::sqrt(in));
      for (float& b : all_b) b = static_cast<float>(random.Gaussian() / std::sqrt(rank));
      Must(adapter.SetNumbers(layer, t, {.in = in, .out = out, .rank = rank, .scale = scale, .format = format,
                                         .a = RoundedTo(format, all_a), .b = RoundedTo(format, all_b)}));
    }
  }
  return adapter;
}

}  // namespace tessera
