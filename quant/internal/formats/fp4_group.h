// MXFP4 and NVFP4: a code of four bits is a floating-point number of four bits (E2M1). A few values share a scale of 8 bits, exact in BF16.
//
//   const Fp4Group group = UnpackMXFP4(bytes);            // 17 bytes: 32 values
//   // Value i is BFloat16ToFloat(scales[i / 16]) * kFp4Codebook[codes[i]], one rounding.
//
// Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {

struct Fp4Group {
  static constexpr int kValues = 32, kRun = 16;

  uint8_t codes[kValues];
  uint16_t scales[kValues / kRun];  // BF16.
};

Fp4Group UnpackMXFP4(const std::byte* bytes);
Fp4Group UnpackNVFP4(const std::byte* bytes, int group);  // A block has two groups.

inline void DequantizeFp4Group(const Fp4Group& group, float* out) {
  for (int i = 0; i < Fp4Group::kValues; ++i) {
    out[i] = BFloat16ToFloat(group.scales[i / Fp4Group::kRun]) * static_cast<float>(kFp4Codebook[group.codes[i]]);
  }
}

}  // namespace tessera
