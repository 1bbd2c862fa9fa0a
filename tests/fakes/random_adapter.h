// Adapters of random numbers, which change what a model says.
//
//   const LoraAdapter adapter = RandomAdapter(config, /*rank=*/4, kAllTargets, /*seed=*/1);
//
// Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/model/files/config.h"
#include "tessera/model/lora.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

inline constexpr unsigned kAllTargets = (1u << kLoraTargets) - 1;

// Inputs and outputs of the model's matrices, in the order of LoraTarget.
inline std::pair<int64_t, int64_t> AdapterShapeOf(const ModelConfig& config, LoraTarget target) {
  const int64_t queries = int64_t{config.heads} * config.head_size, keys = int64_t{config.kv_heads} * config.head_size;
  switch (target) {
    case LoraTarget::kQuery: return {config.width, queries};
    case LoraTarget::kKey:
    case LoraTarget::kValue: return {config.width, keys};
    case LoraTarget::kOutput: return {queries, config.width};
    case LoraTarget::kGate:
    case LoraTarget::kUp: return {config.width, config.feed_forward};
    default: return {config.feed_forward, config.width};
  }
}

// Random A and B that change a product by about as much as it is. targets: bit t for LoraTarget t.
inline LoraAdapter RandomAdapter(const ModelConfig& config, int rank, unsigned targets, uint64_t seed, float scale = 1) {
  SeededRandom random(seed);
  const int layers = static_cast<int>(config.layers.size());
  LoraAdapter adapter = Must(LoraAdapter::Create(layers, kLoraTargets));
  for (int layer = 0; layer < layers; ++layer) {
    for (int t = 0; t < kLoraTargets; ++t) {
      if ((targets >> t & 1) == 0) continue;
      const auto [in, out] = AdapterShapeOf(config, static_cast<LoraTarget>(t));
      LoraMatrices matrices = {.in = in, .out = out, .rank = rank, .scale = scale, .a = std::vector<float>(rank * in),
                               .b = std::vector<float>(rank * out)};
      for (float& a : matrices.a) a = static_cast<float>(random.Gaussian() / std::sqrt(in));
      for (float& b : matrices.b) b = static_cast<float>(random.Gaussian() / std::sqrt(rank));
      Must(adapter.Set(layer, t, std::move(matrices)));
    }
  }
  return adapter;
}

}  // namespace tessera
