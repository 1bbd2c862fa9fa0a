// Formats with looked-up codes of four bits, in panels. A weight is scale * number, and 16 inputs share a scale.
//
// Coded256 holds the IQ formats of 256 values, with any grid. Per 256 inputs: 32 FP32 factors and the table of numbers (+ 128), then 8
// groups of 32 inputs. A group is two tiles of codes and two bytes of scale per output. The table is in the panel, so that one kernel
// serves all these formats. factor * scale is exact in FP32 (11 + 6 bits at most); its product with a number is exact, too.
//
// Fp4 holds MXFP4 and NVFP4: per 32 inputs two tiles of codes, then twice 32 scales in BF16.
#pragma once

#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/panels/tile_codes.h"

namespace tessera::panels {

struct Coded256 : TileCodes<4, 0> {  // 4800 bytes
  static constexpr int kBits = 8, kZero = 128, kGroups = 8, kHalves = 2;
  static constexpr bool kHasMinimum = false;
  static constexpr int kTableAt = 128, kHeaderBytes = kTableAt + kLineBytes;
  static constexpr int kScalesAt = 2 * kTileBytes, kGroupBytes = kScalesAt + 32 * kHalves;

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* header, const std::byte* tile) {
    return L::Lookup(reinterpret_cast<const uint8_t*>(header) + kTableAt, TileCodes::Quad<L, j>(header, tile));
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte* header, const std::byte* group, int tile,
                                                                       int half) {
    return L::Mul(L::Load(reinterpret_cast<const float*>(header) + kLanes * tile),
                  L::LoadSigned8(reinterpret_cast<const int8_t*>(group) + kScalesAt + 32 * half + kLanes * tile));
  }
};

struct Fp4 : TileCodes<4, 0> {  // 640 bytes
  static constexpr int kBits = 8, kZero = 128, kGroups = 1, kHalves = 2, kHeaderBytes = 0;
  static constexpr bool kHasMinimum = false;
  static constexpr int kScalesAt = 2 * kTileBytes, kGroupBytes = kScalesAt + 64 * kHalves;
  alignas(16) static constexpr UnsignedCodebook kTable = ShiftedBy128(kFp4Codebook);

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* header, const std::byte* tile) {
    return L::Lookup(kTable.data(), TileCodes::Quad<L, j>(header, tile));
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte*, const std::byte* group, int tile, int half) {
    return L::LoadBFloat16(reinterpret_cast<const uint16_t*>(group + kScalesAt) + 32 * half + kLanes * tile);
  }
};

}  // namespace tessera::panels
