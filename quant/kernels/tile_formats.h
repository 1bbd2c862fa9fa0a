// Widens a tile's weights to FP32, sixteen outputs per vector. One type for each storage of tiles (quant/internal/tiles/tile_places.h).
//
//   CodedTiles<TileScales::kTileGroup, 4>::Widen<L>(tile, table, [&](int input, L::Float low, L::Float high) { ... });
//
// Inputs ascend. `low` are outputs 0 to 15, `high` outputs 16 to 31. table: the numbers of the codes, for codes of 4 bits. A weight of a
// group is its number times its scale, exact in FP32, rounded once to FP16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/internal/tiles/tile_places.h"
#include "tessera/quant/kernels/unrolled.h"

namespace tessera {

// FP16: a word holds two inputs of an output.
struct HalfTiles {
  static constexpr int64_t kHeader = 0, kBytes = 2048;
  static constexpr bool kHasTable = false;

  template <typename L, typename Sink>
  static inline TESSERA_INLINED void Widen(const std::byte* tile, typename L::Float, Sink sink) {
    for (int input = 0; input < 32; input += 2, tile += 128) {
      const typename L::Int low = L::LoadInt(tile), high = L::LoadInt(tile + 64);
      sink(input, L::LowHalves(low), L::LowHalves(high));
      sink(input + 1, L::LowHalves(L::template ShiftRight<16>(low)), L::LowHalves(L::template ShiftRight<16>(high)));
    }
  }
};

template <TileScales kScales, int kBits>
struct CodedTiles {
  static constexpr TileScheme kScheme = {kBits == 4 ? TileCode::kInt4 : TileCode::kInt8, kScales};
  static constexpr int64_t kHeader = tiles::HeaderBytes(kScheme), kBytes = TileBytes(kScheme);
  static constexpr bool kHasTable = kBits == 4;
  static constexpr int kSuperGroup = tiles::SuperGroupSize(kScheme), kCodes = tiles::kSuperGroupScales;

  template <typename L, typename Sink>
  static inline TESSERA_INLINED void Widen(const std::byte* tile, typename L::Float table, Sink sink) {
    if constexpr (kScales != TileScales::kTileGroup) {
      Rows<L>(tile, table, sink);
    } else {
      for (int s = 0; s < 4; ++s, tile += kSuperGroup) SuperGroup<L>(tile, table, 8 * s, sink);
    }
  }

 private:
  // Widens eight inputs. The eight scales are loaded as sixteen numbers; the codes among these numbers are not used.
  template <typename L, typename Sink>
  static inline TESSERA_INLINED void SuperGroup(const std::byte* group, typename L::Float table, int input, Sink& sink) {
    alignas(64) float stored[16];
    L::Store(stored, L::LoadHalf(reinterpret_cast<const uint16_t*>(group)));
    const float* scales = stored;
    asm volatile("" : "+r"(scales) : : "memory");   // Otherwise GCC broadcasts from the register, with the unit for lookups.
    if constexpr (kBits == 4) {
      const typename L::Int low = L::LoadInt(group + kCodes), high = L::LoadInt(group + kCodes + 64);
      Unrolled(Constants<4>(), [&](auto pair) TESSERA_INLINED {
        constexpr int kEven = 2 * pair.value, kShift = ShiftOf(kEven), kOddShift = ShiftOf(kEven + 1);
        // Scales the table once per group; then a weight takes a shift and a lookup.
        const typename L::Float low_table = L::RoundToHalf(L::Mul(table, L::Set(scales[kEven])));
        const typename L::Float high_table = L::RoundToHalf(L::Mul(table, L::Set(scales[kEven + 1])));
        sink(input + kEven, L::LookUp(low_table, L::template ShiftRight<kShift>(low)),
             L::LookUp(high_table, L::template ShiftRight<kShift>(high)));
        sink(input + kEven + 1, L::LookUp(low_table, L::template ShiftRight<kOddShift>(low)),
             L::LookUp(high_table, L::template ShiftRight<kOddShift>(high)));
      });
    } else {
      for (int even = 0; even < 8; even += 2) {
        const typename L::Int low = L::LoadWords(group + kCodes + 32 * even), high = L::LoadWords(group + kCodes + 32 * even + 32);
        const typename L::Float low_scale = L::Set(scales[even]), high_scale = L::Set(scales[even + 1]);
        sink(input + even, Scaled<L>(LowByte<L>(low), low_scale), Scaled<L>(LowByte<L>(high), high_scale));
        sink(input + even + 1, Scaled<L>(L::template ShiftRightSigned<8>(low), low_scale),
             Scaled<L>(L::template ShiftRightSigned<8>(high), high_scale));
      }
    }
  }

  // Widens all other tiles: one input, or one pair of inputs, after the other.
  template <typename L, typename Sink>
  static inline TESSERA_INLINED void Rows(const std::byte* tile, typename L::Float table, Sink& sink) {
    typename L::Float low_scale = L::Zero(), high_scale = L::Zero();
    if constexpr (kScales == TileScales::kCommonGroup) {
      const uint16_t* const scales =
          reinterpret_cast<const uint16_t*>(tile + (kBits == 4 ? tiles::kCommonScales4 : tiles::kCommonScales8));
      low_scale = L::LoadHalf(scales);
      high_scale = L::LoadHalf(scales + 16);
    }
    for (int input = 0; input < 32; input += 2) {
      if constexpr (kBits == 4) {
        const typename L::Int low = L::LoadUnsigned8(tile), high = L::LoadUnsigned8(tile + 16);
        tile += 32;
        sink(input, Grouped<L>(L::LookUp(table, low), low_scale), Grouped<L>(L::LookUp(table, high), high_scale));
        sink(input + 1, Grouped<L>(L::LookUp(table, L::template ShiftRight<4>(low)), low_scale),
             Grouped<L>(L::LookUp(table, L::template ShiftRight<4>(high)), high_scale));
      } else {
        const int8_t* const codes = reinterpret_cast<const int8_t*>(tile);
        tile += 64;
        sink(input, Grouped<L>(L::LoadSigned8(codes), low_scale), Grouped<L>(L::LoadSigned8(codes + 16), high_scale));
        sink(input + 1, Grouped<L>(L::LoadSigned8(codes + 32), low_scale), Grouped<L>(L::LoadSigned8(codes + 48), high_scale));
      }
    }
  }

  static constexpr int ShiftOf(int input) {
    const tiles::CodePlace place = tiles::PlaceOfCode(kScheme, input, 0);
    return 8 * (place.byte - kCodes) + place.shift;
  }
  template <typename L>
  static inline TESSERA_INLINED typename L::Int LowByte(typename L::Int words) {
    return L::template ShiftRightSigned<24>(L::template ShiftLeft<24>(words));
  }
  template <typename L>
  static inline TESSERA_INLINED typename L::Float Scaled(typename L::Int codes, typename L::Float scale) {
    return L::RoundToHalf(L::Mul(L::ToFloat(codes), scale));
  }
  template <typename L>
  static inline TESSERA_INLINED typename L::Float Grouped(typename L::Float numbers, typename L::Float scale) {
    if constexpr (kScales == TileScales::kCommonGroup) return L::RoundToHalf(L::Mul(numbers, scale));
    return numbers;
  }
};

}  // namespace tessera
