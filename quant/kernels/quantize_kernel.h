// Rounds a row of FP32 to 8 or 16 bits in groups of 32 (quant/activation.h), with the same bits on every instruction set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tessera/quant/activation.h"

namespace tessera {

// The multiplication of weights by a group's values in lanes of L.
template <typename L, typename Group>
using ProductsOf = std::conditional_t<Group::kBits == 8, typename L::Products8, typename L::Products16>;

constexpr int32_t kInfinityBits = 0x7f800000;
constexpr int32_t kSmallestBits = 0x0d800000;  // 2^-100: below it 32512 / magnitude would leave FP32's range.

// Factors that turn numbers of this largest magnitude into integers up to kLargest: code = round(x * inverse), x is about code * scale.
struct CodeScale { float inverse; float scale; };
template <int kLargest>
static inline CodeScale CodeScaleOf(int32_t magnitude_bits) {
  const float magnitude = std::bit_cast<float>(magnitude_bits);
  if (magnitude_bits >= kInfinityBits) return {0.0f, std::numeric_limits<float>::quiet_NaN()};
  if (magnitude_bits < kSmallestBits) return {0.0f, 0.0f};
  return {kLargest / magnitude, magnitude / kLargest};
}

// Groups that are rounded together. Their halves fill one lane each, so that sums, maxima and divisions take one vector for all.
constexpr int kGroupsTogether = 8;

// Returns the 32 values of group `g`. A tail is copied to `tail` and filled with zeros.
static inline const float* ValuesOfGroup(const float* x, int64_t in_features, int64_t g, float* tail) {
  const int64_t left = in_features - 32 * g;
  if (left >= 32) return x + 32 * g;
  std::fill_n(std::copy_n(x + 32 * g, left, tail), 32 - left, 0.0f);
  return tail;
}

// code = round(x * inverse), x is about code * scale. Group i is in lanes i and i + 8.
template <typename L>
struct GroupScales {
  typename L::Float inverse;
  typename L::Float scale;
  bool finite;  // True if all groups are finite.
};

template <typename L, int kLargest>
inline __attribute__((always_inline)) GroupScales<L> ScalesOfGroups(const float* const* values) {
  typename L::Int magnitudes[16];
  for (int i = 0; i < 16; ++i) {
    const float* x = values[i % kGroupsTogether];
    magnitudes[i] = L::MaxMagnitudeBits(L::MaxMagnitudeBits(L::SetInt(0), L::Load(x)), L::Load(x + 16));
  }
  const typename L::Int bits = L::LargestOfEach(magnitudes);
  const typename L::Float largest = L::AsFloat(bits), codes = L::Set(kLargest), smallest = L::Set(std::bit_cast<float>(kSmallestBits));
  return {L::ZeroBelow(largest, smallest, L::Div(codes, largest)), L::ZeroBelow(largest, smallest, L::Div(largest, codes)),
          L::LargestInt(bits) < kInfinityBits};  // Infinities and NaN are larger than every number.
}

// Stores the codes of `count` groups. Returns the sums of codes 0-15 of group i in lane i, of codes 16-31 in lane i + 8. Integer sums are
// exact in any order.
template <typename L, typename Group>
inline __attribute__((always_inline)) typename L::Int RoundGroups(const float* const* values, typename L::Float inverses, int count,
                                                                  Group* out) {
  typename L::Int codes[16];
  alignas(64) float inverse[16];
  L::Store(inverse, inverses);
  for (int i = 0; i < kGroupsTogether; ++i) {
    codes[i] = L::RoundToInt(L::Mul(L::Load(values[i]), L::Set(inverse[i])));
    codes[kGroupsTogether + i] = L::RoundToInt(L::Mul(L::Load(values[i] + 16), L::Set(inverse[i])));
  }
  for (int i = 0; i < count; ++i) {
    ProductsOf<L, Group>::StoreValues(out[i].values, codes[i]);
    ProductsOf<L, Group>::StoreValues(out[i].values + sizeof out->values / 2, codes[kGroupsTogether + i]);
  }
  return L::SumOfEach(codes);
}

// Stores the figures behind the groups' values: first as columns, each in half of the lanes, then group by group.
template <typename L, typename Group>
inline __attribute__((always_inline)) void StoreFigures(typename L::Float scale, typename L::Int sums, int count, Group* out) {
  const typename L::Int sum = L::AddInt(sums, L::SwapHalves(sums));
  alignas(64) int32_t columns[9][kGroupsTogether];
  L::StoreInt(columns[7], L::SetInt(0));
  L::Store(reinterpret_cast<float*>(columns[0]), scale);  // Each store's upper half makes room for the next one.
  L::Store(reinterpret_cast<float*>(columns[1]), L::Mul(scale, L::ToFloat(sum)));
  L::StoreInt(columns[2], L::MulInt(sum, -8));
  L::StoreInt(columns[3], L::MulInt(sum, -16));
  L::StoreInt(columns[4], L::MulInt(sum, -128));
  L::StoreInt(columns[5], L::MulInt(sums, -32));          // The upper half of these sums is column 6.
  alignas(64) int32_t figures[kGroupsTogether][8];
  L::Transpose(columns, figures);
  static_assert(offsetof(Group, start32) - offsetof(Group, scale) == 5 * sizeof(int32_t));
  for (int i = 0; i < count; ++i) std::memcpy(&out[i].scale, figures[i], sizeof figures[i]);
}

template <typename L, typename Group>
void QuantizeRow(const float* x, int64_t in_features, Group* out) {
  const int64_t groups = QuantizedRows::Groups(in_features);
  bool finite = true;
  for (int64_t first = 0; first < groups; first += kGroupsTogether) {
    float tail[32];
    const int count = static_cast<int>(std::min<int64_t>(groups - first, kGroupsTogether));
    const float* values[kGroupsTogether];
    for (int i = 0; i < kGroupsTogether; ++i) values[i] = i < count ? ValuesOfGroup(x, in_features, first + i, tail) : values[0];
    const GroupScales<L> scales = ScalesOfGroups<L, Group::kLargest>(values);
    finite = scales.finite;
    if (!finite) break;  // No integer is nearest to a NaN.
    StoreFigures<L>(scales.scale, RoundGroups<L>(values, scales.inverse, count, out + first), count, out + first);
  }
  if (finite) return;
  for (int64_t g = 0; g < groups; ++g) {  // One NaN or infinity: the whole row is NaN, and no other row is touched.
    out[g] = Group{};
    out[g].scale = out[g].scaled_sum = std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace tessera
