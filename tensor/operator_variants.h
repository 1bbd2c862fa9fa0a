// Variants of operators that models share: the activation that gates the feed-forward part, and the numbers that RoPE pairs.
//
//   struct Model { Activation activation = Activation::kSilu; RopePairs pairs = RopePairs::kAdjacent; };
//   const auto gated = model.activation == Activation::kSilu ? reference::GatedSilu : reference::GatedGeluTanh;
//
// tensor/reference_ops.h defines each variant. Thread-safe (plain data).
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// y = activation(gate) * up.
enum class Activation : uint8_t { kSilu, kGeluTanh };

// The numbers of a head that form pair i: (2 i, 2 i + 1), or (i, i + dimensions / 2).
enum class RopePairs : uint8_t { kAdjacent, kHalves };

}  // namespace tessera
