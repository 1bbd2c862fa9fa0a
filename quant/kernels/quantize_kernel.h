// Rounding a row of FP32 to 8 or 16 bits in groups of 32 (quant/activation.h), the same on every instruction set.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "tessera/quant/activation.h"

namespace tessera {

// How lanes multiply weights with the values of a group.
template <typename L, typename Group>
using ProductsOf = std::conditional_t<Group::kBits == 8, typename L::Products8, typename L::Products16>;

constexpr int32_t kInfinityBits = 0x7f800000;
constexpr int32_t kSmallestBits = 0x0d800000;  // 2^-100: below it 32512 / magnitude would leave FP32's range.

// How numbers of this largest magnitude become integers up to kLargest: code = round(x * inverse), x is about code * scale.
struct CodeScale { float inverse; float scale; };
template <int kLargest>
static inline CodeScale CodeScaleOf(int32_t magnitude_bits) {
  if (magnitude_bits >= kInfinityBits) return {0.0f, std::numeric_limits<float>::quiet_NaN()};
  if (magnitude_bits < kSmallestBits) return {0.0f, 0.0f};
  float magnitude;
  std::memcpy(&magnitude, &magnitude_bits, sizeof magnitude);
  return {kLargest / magnitude, magnitude / kLargest};
}

// `x` holds 32 values. Integer sums are exact, so their order is free.
template <typename L, typename Group>
inline __attribute__((always_inline)) void QuantizeGroup(const float* x, int32_t magnitude_bits, Group* out) {
  const CodeScale scale = CodeScaleOf<Group::kLargest>(magnitude_bits);
  const typename L::Int low = L::RoundToInt(L::Mul(L::Load(x), L::Set(scale.inverse)));
  const typename L::Int high = L::RoundToInt(L::Mul(L::Load(x + 16), L::Set(scale.inverse)));
  ProductsOf<L, Group>::StoreValues(out->values, low);
  ProductsOf<L, Group>::StoreValues(out->values + sizeof out->values / 2, high);
  const int32_t sum_low = L::SumInt(low), sum_high = L::SumInt(high), sum = sum_low + sum_high;
  out->scale = scale.scale;
  out->scaled_sum = out->scale * static_cast<float>(sum);
  out->start8 = -8 * sum;
  out->start16 = -16 * sum;
  out->start128 = -128 * sum;
  out->start32[0] = -32 * sum_low;
  out->start32[1] = -32 * sum_high;
}

// The largest magnitude of 32 values, as bits; infinities and NaN are larger than every number.
template <typename L>
inline __attribute__((always_inline)) int32_t MagnitudeBits(const float* x) {
  return L::LargestInt(L::MaxMagnitudeBits(L::MaxMagnitudeBits(L::SetInt(0), L::Load(x)), L::Load(x + 16)));
}

template <typename L, typename Group>
void QuantizeRow(const float* x, int64_t in_features, Group* out) {
  const int64_t groups = QuantizedRows::Groups(in_features);
  bool finite = true;
  for (int64_t g = 0; g < groups; ++g) {
    float tail[32];
    const float* values = x + 32 * g;
    if (in_features - 32 * g < 32) {
      std::memset(tail, 0, sizeof tail);
      std::memcpy(tail, values, (in_features - 32 * g) * sizeof(float));
      values = tail;
    }
    const int32_t magnitude_bits = MagnitudeBits<L>(values);
    finite = finite && magnitude_bits < kInfinityBits;
    if (!finite) break;
    QuantizeGroup<L>(values, magnitude_bits, out + g);
  }
  if (finite) return;
  for (int64_t g = 0; g < groups; ++g) {  // One NaN or infinity: the whole row is NaN, and no other row is touched.
    out[g] = Group{};
    out[g].scale = out[g].scaled_sum = std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace tessera
