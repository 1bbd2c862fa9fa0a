// Norms, sums, activations and rotations of one row, written once over sixteen lanes (tensor/kernels/lanes_portable.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/npu/host/internal/row_kernels.h"
#include "tessera/quant/kernels/quantize_kernel.h"
#include "tessera/tensor/kernels/elementwise.h"

namespace tessera {

// Calls f(offset, lanes) over [0, columns). lanes is 16, except in a shorter last step.
template <typename F>
inline __attribute__((always_inline)) void ForEachStep(int64_t columns, F f) {
  int64_t i = 0;
  for (; i + 16 <= columns; i += 16) f(i, 16);
  if (i < columns) f(i, static_cast<int>(columns - i));
}

template <typename L>
inline __attribute__((always_inline)) typename L::Float LoadStep(const float* p, int lanes) {
  return lanes == 16 ? L::Load(p) : L::LoadPartial(p, lanes);
}

template <typename L>
inline __attribute__((always_inline)) void StoreStep(float* p, typename L::Float x, int lanes) {
  if (lanes == 16) {
    L::Store(p, x);
  } else {
    L::StorePartial(p, x, lanes);
  }
}

// Returns the dot product: sixteen partial sums by index mod 16, joined by Sum's tree.
template <typename L>
inline __attribute__((always_inline)) float DotProduct(const float* a, const float* b, int64_t columns) {
  typename L::Float sum = L::Zero();
  ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    sum = L::Fma(LoadStep<L>(a + i, lanes), LoadStep<L>(b + i, lanes), sum);
  });
  return L::Sum(sum);
}

template <typename L>
void RmsNormRow(const float* x, const float* weight, int64_t columns, float epsilon, float* y) {
  const float mean = DotProduct<L>(x, x, columns) / static_cast<float>(columns);
  const typename L::Float scale = L::Set(1.0f / std::sqrt(mean + epsilon));
  ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    StoreStep<L>(y + i, L::Mul(L::Mul(LoadStep<L>(x + i, lanes), scale), LoadStep<L>(weight + i, lanes)), lanes);
  });
}

template <typename L>
void AddRows(const float* a, const float* b, int64_t columns, float* y) {
  ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    StoreStep<L>(y + i, L::Add(LoadStep<L>(a + i, lanes), LoadStep<L>(b + i, lanes)), lanes);
  });
}

template <typename L>
void GatedRow(const float* gate, const float* up, int64_t columns, Activation activation, float* y) {
  const auto step = [&](auto activate) {
    ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
      StoreStep<L>(y + i, L::Mul(activate(LoadStep<L>(gate + i, lanes)), LoadStep<L>(up + i, lanes)), lanes);
    });
  };
  if (activation == Activation::kSilu) {
    step([](typename L::Float x) __attribute__((always_inline)) { return SiluLanes<L>(x); });
  } else {
    step([](typename L::Float x) __attribute__((always_inline)) { return GeluTanhLanes<L>(x); });
  }
}

// (a, b) -> (a cos - b sin, a sin + b cos), with the first product fused and the second rounded. The step from pair to pair is a constant,
// so that the compiler vectorizes the loop.
template <typename L, int kStep>
inline void RotatePairs(const float* __restrict x, const float* __restrict cos_sin, int pairs, float* __restrict y) {
  const int apart = kStep == 2 ? 1 : pairs;
  for (int i = 0; i < pairs; ++i) {
    const float a = x[kStep * i], b = x[kStep * i + apart], cosine = cos_sin[2 * i], sine = cos_sin[2 * i + 1];
    y[kStep * i] = __builtin_fmaf(a, cosine, -(b * sine));
    y[kStep * i + apart] = __builtin_fmaf(a, sine, b * cosine);
  }
}

template <typename L>
void RopeRow(const float* x, const float* cos_sin, RopeShape shape, float* y) {
  const int pairs = shape.dimensions / 2;
  for (int head = 0; head < shape.heads; ++head, x += shape.head_size, y += shape.head_size) {
    if (shape.pairs == RopePairs::kAdjacent) {
      RotatePairs<L, 2>(x, cos_sin, pairs, y);
    } else {
      RotatePairs<L, 1>(x, cos_sin, pairs, y);
    }
    std::memcpy(y + shape.dimensions, x + shape.dimensions, (shape.head_size - shape.dimensions) * sizeof(float));
  }
}

template <typename L>
void StoreHalves(const float* x, int64_t columns, uint16_t* y, int64_t stride) {
  ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    uint16_t halves[16];
    L::StoreHalf(halves, LoadStep<L>(x + i, lanes));
    for (int lane = 0; lane < lanes; ++lane) y[(i + lane) * stride] = halves[lane];
  });
}

// Returns the order of the Hadamard matrices that rotate a head: the largest power of two that divides the head's size.
constexpr int64_t RotationOrder(int64_t columns) { return columns & -columns; }

// Multiplies each part of `order` numbers by the Hadamard matrix of that order, in place: log2(order) rounds of sums and differences.
// Rotating twice multiplies the numbers by `order`. One large number becomes many small numbers, so that a head's largest number is not far
// above the others.
template <typename L>
void Rotate(float* x, int64_t columns) {
  const int64_t order = RotationOrder(columns);
  for (int64_t half = 1; half < order; half *= 2) {
    for (int64_t begin = 0; begin < columns; begin += 2 * half) {
      for (int64_t i = begin; i < begin + half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
    }
  }
}

// Stores codes of -127 to 127 of the rotated head. Returns the scale: code * scale, rotated once more, is about x. A NaN or an infinity
// among the numbers makes the scale NaN, and so makes all numbers NaN.
template <typename L>
float StoreBytes(const float* x, int64_t columns, int8_t* y, int64_t stride) {
  float rotated[KvView::kLargestByteHead];
  std::copy_n(x, columns, rotated);
  Rotate<L>(rotated, columns);
  typename L::Int bits = L::SetInt(0);
  ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    bits = L::MaxMagnitudeBits(bits, LoadStep<L>(rotated + i, lanes));
  });
  const CodeScale scale = CodeScaleOf<127>(L::LargestInt(bits));
  ForEachStep(columns, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    int8_t codes[16] = {};
    if (scale.inverse != 0) L::StoreSigned8(codes, L::RoundToInt(L::Mul(LoadStep<L>(rotated + i, lanes), L::Set(scale.inverse))));
    for (int lane = 0; lane < lanes; ++lane) y[(i + lane) * stride] = codes[lane];
  });
  return scale.scale / static_cast<float>(RotationOrder(columns));
}

template <typename L>
void StoreHead(const float* x, int64_t columns, const HeadPlace& to) {
  if (to.format == KvFormat::kInt8) {
    *to.scale = StoreBytes<L>(x, columns, reinterpret_cast<int8_t*>(to.numbers), to.stride);
  } else {
    StoreHalves<L>(x, columns, reinterpret_cast<uint16_t*>(to.numbers), to.stride);
  }
}

}  // namespace tessera
