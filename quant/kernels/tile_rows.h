// Rounds a row for tile kernels (quant/tile_kernels.h), with the same bits on every instruction set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "tessera/quant/tile_scheme.h"

namespace tessera {

// Factors that turn numbers into whole multiples of a scale: code = round(x * inverse), x is about code * scale.
template <typename L>
struct TileRowScale {
  float inverse = 0, scale = 0;

  // The largest code is `largest`. Rows below 2^-100 are zeros: the division would leave FP32's range, and in FP16 such rows are zeros
  // anyway.
  TileRowScale(int32_t magnitude_bits, float largest) {
    const float magnitude = std::bit_cast<float>(magnitude_bits);
    if (magnitude < 0x1p-100f) return;
    inverse = largest / magnitude;
    scale = magnitude / largest;
  }
};

template <typename L>
int32_t LargestMagnitudeBits(const float* x, int64_t in_features) {
  typename L::Int bits = L::SetInt(0);
  int64_t i = 0;
  for (; i + 16 <= in_features; i += 16) bits = L::MaxMagnitudeBits(bits, L::Load(x + i));
  if (i < in_features) bits = L::MaxMagnitudeBits(bits, L::LoadPartial(x + i, static_cast<int>(in_features - i)));
  return L::LargestInt(bits);
}

// out[i] = f(x[i]), then zeros up to a whole tile. Each sixteen numbers are read before they are written.
template <typename L, typename F>
inline __attribute__((always_inline)) void MapTileRow(const float* x, int64_t in_features, float* out, F f) {
  const int64_t end = (in_features + 31) / 32 * 32;
  int64_t i = 0;
  for (; i + 16 <= in_features; i += 16) L::Store(out + i, f(L::Load(x + i)));
  if (i < in_features) {
    float tail[16];
    L::Store(tail, f(L::LoadPartial(x + i, static_cast<int>(in_features - i))));
    for (int64_t k = in_features; k < i + 16; ++k) tail[k - i] = 0;   // f of zeros need not be zero.
    L::Store(out + i, L::Load(tail));
    i += 16;
  }
  for (; i < end; i += 16) L::Store(out + i, L::Zero());
}

template <typename L>
void RoundTileRow(const float* x, int64_t in_features, TileInput input, float* out) {
  using Float = typename L::Float;
  if (input == TileInput::kHalf) {
    MapTileRow<L>(x, in_features, out, [](Float a) __attribute__((always_inline)) { return L::RoundToHalf(a); });
    return;
  }
  const int32_t bits = LargestMagnitudeBits<L>(x, in_features);
  if (bits >= 0x7f800000) {  // Infinities and NaN are larger than every number.
    const Float nan = L::Set(std::numeric_limits<float>::quiet_NaN());
    MapTileRow<L>(x, in_features, out, [nan](Float) __attribute__((always_inline)) { return nan; });
    return;
  }
  const TileRowScale<L> row(bits, input == TileInput::kInt8 ? 127.0f : 32767.0f);
  const Float inverse = L::Set(row.inverse), scale = L::Set(row.scale);
  MapTileRow<L>(x, in_features, out, [inverse, scale](Float a) __attribute__((always_inline)) {
    return L::RoundToHalf(L::Mul(L::Round(L::Mul(a, inverse)), scale));
  });
}

}  // namespace tessera
