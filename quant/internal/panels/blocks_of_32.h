// The formats with an FP16 scale for 32 inputs, in panels. A group is two tiles of codes, then 32 FP16 scales and, if the format has
// minima, 32 FP16 minima. The size does not grow: a panel has the bytes of 32 outputs' blocks in another order. Only Q1_0 and Q2_0 grow,
// because panels store them as Q4_0.
//
// A weight is scale * (code - kZero) + minimum. docs/adding_a_block_format.md lists the kernel's requirements on such a struct.
#pragma once

#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/panels/tile_codes.h"

namespace tessera::panels {

template <int kLow, int kHigh, int kZeroCode, bool kMinima = false>
struct BlockOf32 : TileCodes<kLow, kHigh> {
  static constexpr int kGroups = 1, kHalves = 1, kZero = kZeroCode, kHeaderBytes = 0;
  static constexpr bool kHasMinimum = kMinima;
  static constexpr int kScalesAt = 2 * TileCodes<kLow, kHigh>::kTileBytes, kMinimaAt = kScalesAt + 64;
  static constexpr int kGroupBytes = kMinimaAt + (kHasMinimum ? 64 : 0);

  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Scale(const std::byte*, const std::byte* group, int tile, int) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(group + kScalesAt) + kLanes * tile);
  }
  template <typename L>
  static inline __attribute__((always_inline)) typename L::Float Minimum(const std::byte*, const std::byte* group, int tile, int) {
    return L::LoadHalf(reinterpret_cast<const uint16_t*>(group + kMinimaAt) + kLanes * tile);
  }
  static int ValueOf(uint8_t code) { return code - kZero; }
};

struct Q4_0 : BlockOf32<4, 0, /*kZeroCode=*/8> {};                       // 576 bytes
struct Q4_1 : BlockOf32<4, 0, /*kZeroCode=*/0, /*kMinima=*/true> {};     // 640
struct Q5_0 : BlockOf32<4, 1, /*kZeroCode=*/16> {};                      // 704
struct Q5_1 : BlockOf32<4, 1, /*kZeroCode=*/0, /*kMinima=*/true> {};     // 768
struct Q8_0 : BlockOf32<8, 0, /*kZeroCode=*/128> {};                     // 1088; the file's signed bytes + 128

// Formats whose codes are looked up during the load: the kernel multiplies by the numbers of the code book + 128.
template <int kLow, int kHigh, const Codebook& kNumbers>
struct CodedBlockOf32 : BlockOf32<kLow, kHigh, /*kZeroCode=*/128> {
  using Codes = BlockOf32<kLow, kHigh, 128>;
  static constexpr int kBits = 8;
  alignas(16) static constexpr UnsignedCodebook kTable = ShiftedBy128(kNumbers);

  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* header, const std::byte* tile) {
    return L::Lookup(kTable.data(), Codes::template Quad<L, j>(header, tile));
  }
  static int ValueOf(uint8_t code) { return kNumbers[code]; }
};

struct IQ4_NL : CodedBlockOf32<4, 0, kIq4NlCodebook> {};  // 576; Q4_0's bytes
struct T2 : CodedBlockOf32<2, 0, kT2Codebook> {};         // 320
struct T3 : CodedBlockOf32<2, 1, kT3Codebook> {};         // 448

}  // namespace tessera::panels
