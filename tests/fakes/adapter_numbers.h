// Returns the numbers of an adapter's product in FP32, in any stored format.
//
//   const std::vector<float> a = WideA(product, /*in=*/576), b = WideB(product, /*out=*/192);
//
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/npu/device.h"
#include "tessera/quant/block_format.h"

namespace tessera {

inline std::vector<float> WideNumbersOf(const void* numbers, BlockFormat format, int64_t count) {
  std::vector<float> wide(static_cast<size_t>(count));
  InfoOf(format).dequantize(static_cast<const std::byte*>(numbers), count, wide.data());
  return wide;
}

// Shapes: [rank, in] and [rank, out].
inline std::vector<float> WideA(const AdapterProduct& product, int64_t in) {
  return WideNumbersOf(product.a, product.format, product.rank * in);
}
inline std::vector<float> WideB(const AdapterProduct& product, int64_t out) {
  return WideNumbersOf(product.b, product.format, product.rank * out);
}

}  // namespace tessera
