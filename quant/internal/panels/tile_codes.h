// The storage of codes in a tile (32 inputs of 16 outputs). A tile has a plane of the codes' low bits and, for codes of 3, 5 or 6 bits, a
// plane of the high bits.
//
//   using Codes = TileCodes<4, 1>;                            // Five bits: 4 + 1 lines, 320 bytes.
//   Codes::Put(codes, tile, lane);                            // The 32 codes of one output, a byte each.
//   L::Bytes quad = Codes::Quad<L, 5>(header, tile);          // Inputs 20 to 23 of all outputs, for the dot product.
//
// A plane of b bits is b lines of 64 bytes. In a line, lane l has bytes 4 l to 4 l + 3, one for each input of a quad; quads share the
// byte's bits. Kernels include this header, too: the called functions are inlined, so that each instruction set has its own copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::panels {

constexpr int kLanes = 16;  // Outputs of a tile.
constexpr int kLineBytes = 64;

template <int kBits>
struct Plane {
  static_assert(kBits == 1 || kBits == 2 || kBits == 4 || kBits == 8);
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr uint32_t kMaskOfQuad = kMask * 0x01010101u;

  // Line and lowest bit of quad j. Four bits pair quads j and j + 4, as GGUF pairs inputs k and k + 16 in a byte. Two bits keep the first
  // sixteen inputs in a separate line, since formats with few bits have separate scales for the two halves.
  static constexpr int Line(int j) { return kBits == 8 ? j : kBits == 4 ? j % 4 : kBits == 2 ? j / 4 : 0; }
  static constexpr int Shift(int j) { return kBits == 8 ? 0 : kBits == 4 ? j / 4 * 4 : kBits == 2 ? j % 4 * 2 : j; }

  // Returns the bits of quad j, moved up to bit kTo of their bytes.
  template <typename L, int j, int kTo>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte* plane) {
    return L::template Field<Shift(j), kMask, kTo>(L::LoadBytes(plane + kLineBytes * Line(j)));
  }

  // Stores bits of the codes of one lane, from bit kFrom up. `quads`: the lane's eight quads of codes, each a word of four bytes.
  template <int kFrom>
  static void Put(const uint32_t* quads, std::byte* plane, int lane) {
    for (int line = 0; line < kBits; ++line) {
      uint32_t word = 0;
      for (int j = 0; j < 8; ++j) {
        if (Line(j) == line) word |= (quads[j] >> kFrom & kMaskOfQuad) << Shift(j);
      }
      std::memcpy(plane + kLineBytes * line + 4 * lane, &word, sizeof word);
    }
  }
  template <int kTo>
  static void Get(const std::byte* plane, int lane, uint32_t* quads) {
    for (int j = 0; j < 8; ++j) {
      uint32_t word;
      std::memcpy(&word, plane + kLineBytes * Line(j) + 4 * lane, sizeof word);
      quads[j] |= (word >> Shift(j) & kMaskOfQuad) << kTo;
    }
  }
};

template <int kLow, int kHigh>
struct TileCodes {
  static constexpr int kBits = kLow + kHigh;
  static constexpr int kTileBytes = kLineBytes * kBits;
  static constexpr int kHighPlane = kLineBytes * kLow;
  static constexpr bool kHasHighPlane = kHigh > 0;

  // `header`: the block's header, for formats with a lookup table in the header.
  template <typename L, int j>
  static inline __attribute__((always_inline)) typename L::Bytes Quad(const std::byte*, const std::byte* tile) {
    const typename L::Bytes low = Plane<kLow>::template Quad<L, j, 0>(tile);
    if constexpr (kHigh == 0) {
      return low;
    } else {
      return L::Or(low, Plane<kHigh>::template Quad<L, j, kLow>(tile + kHighPlane));
    }
  }

  static void Put(const uint8_t* codes, std::byte* tile, int lane) {
    uint32_t quads[8];
    std::memcpy(quads, codes, sizeof quads);
    Plane<kLow>::template Put<0>(quads, tile, lane);
    if constexpr (kHigh > 0) Plane<kHigh>::template Put<kLow>(quads, tile + kHighPlane, lane);
  }
  static void Get(const std::byte* tile, int lane, uint8_t* codes) {
    uint32_t quads[8] = {};
    Plane<kLow>::template Get<0>(tile, lane, quads);
    if constexpr (kHigh > 0) Plane<kHigh>::template Get<kLow>(tile + kHighPlane, lane, quads);
    std::memcpy(codes, quads, sizeof quads);
  }
};

}  // namespace tessera::panels
