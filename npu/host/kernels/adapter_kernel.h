// The two products of an adapter, A x and y += scale * B (A x), written once over sixteen lanes (tensor/kernels/lanes_portable.h).
//
// 16-bit numbers are widened during the load; widening is exact. Several sums are computed together, so that no sum waits for another. Each
// sum has the bits of the sum computed alone. So bits depend neither on the number of concurrent sums nor on the format.
#pragma once

#include <cstring>

#include "tessera/npu/host/kernels/row_kernel.h"

namespace tessera {

// Loads sixteen numbers of an adapter from p on; a shorter last step is filled with zeros.
template <typename L>
struct WideNumbers {
  using Number = float;
  static inline __attribute__((always_inline)) typename L::Float Load(const float* p, int lanes) { return LoadStep<L>(p, lanes); }
};

struct NarrowTail {
  NarrowTail(const uint16_t* p, int lanes) { std::memcpy(numbers, p, static_cast<size_t>(lanes) * sizeof(uint16_t)); }
  uint16_t numbers[16] = {};
};

template <typename L>
struct HalfNumbers {
  using Number = uint16_t;
  static inline __attribute__((always_inline)) typename L::Float Load(const uint16_t* p, int lanes) {
    return lanes == 16 ? L::LoadHalf(p) : L::LoadHalf(NarrowTail(p, lanes).numbers);
  }
};

template <typename L>
struct BFloat16Numbers {
  using Number = uint16_t;
  static inline __attribute__((always_inline)) typename L::Float Load(const uint16_t* p, int lanes) {
    return lanes == 16 ? L::LoadBFloat16(p) : L::LoadBFloat16(NarrowTail(p, lanes).numbers);
  }
};

// inner[r] = A[r] x for kRanks rows of A.
template <typename L, typename Numbers, int kRanks>
inline __attribute__((always_inline)) void DotRanks(const typename Numbers::Number* a, const float* x, int64_t in_features, float* inner) {
  typename L::Float sums[kRanks];
  for (int r = 0; r < kRanks; ++r) sums[r] = L::Zero();
  ForEachStep(in_features, [&](int64_t i, int lanes) __attribute__((always_inline)) {
    const typename L::Float input = LoadStep<L>(x + i, lanes);
    for (int r = 0; r < kRanks; ++r) sums[r] = L::Fma(Numbers::Load(a + r * in_features + i, lanes), input, sums[r]);
  });
  for (int r = 0; r < kRanks; ++r) inner[r] = L::Sum(sums[r]);
}

template <typename L, typename Numbers>
void AdaptDownOf(const AdapterProduct& adapter, const float* x, int64_t in_features, float* inner) {
  constexpr int kAtOnce = 4;
  const auto* const a = static_cast<const typename Numbers::Number*>(adapter.a);
  int r = 0;
  for (; r + kAtOnce <= adapter.rank; r += kAtOnce) DotRanks<L, Numbers, kAtOnce>(a + r * in_features, x, in_features, inner + r);
  for (; r < adapter.rank; ++r) DotRanks<L, Numbers, 1>(a + r * in_features, x, in_features, inner + r);
}

// Computes kSteps steps of columns from `first` on; the last step has `lanes` lanes.
template <typename L, typename Numbers, int kSteps>
inline __attribute__((always_inline)) void AdaptSteps(const AdapterJob& job, int64_t first, int lanes) {
  const auto* b = static_cast<const typename Numbers::Number*>(job.adapter.b) + first;
  typename L::Float sums[kSteps];
  for (int s = 0; s < kSteps; ++s) sums[s] = L::Zero();
  for (int r = 0; r < job.adapter.rank; ++r, b += job.out_features) {
    const typename L::Float inner = L::Set(job.inner[r]);
    for (int s = 0; s < kSteps; ++s) sums[s] = L::Fma(Numbers::Load(b + 16 * s, lanes), inner, sums[s]);
  }
  const typename L::Float scale = L::Set(job.adapter.scale);
  for (int s = 0; s < kSteps; ++s) {
    float* const y = job.y + first + 16 * s;
    StoreStep<L>(y, L::Fma(scale, sums[s], LoadStep<L>(y, lanes)), lanes);
  }
}

template <typename L, typename Numbers>
void AdaptUpOf(const AdapterJob& job) {
  constexpr int kAtOnce = 4;
  int64_t i = job.begin;
  for (; i + 16 * kAtOnce <= job.end; i += 16 * kAtOnce) AdaptSteps<L, Numbers, kAtOnce>(job, i, 16);
  for (; i + 16 <= job.end; i += 16) AdaptSteps<L, Numbers, 1>(job, i, 16);
  if (i < job.end) AdaptSteps<L, Numbers, 1>(job, i, static_cast<int>(job.end - i));
}

template <typename L>
void AdaptDown(const AdapterProduct& adapter, const float* x, int64_t in_features, float* inner) {
  if (adapter.format == BlockFormat::kF16) return AdaptDownOf<L, HalfNumbers<L>>(adapter, x, in_features, inner);
  if (adapter.format == BlockFormat::kBF16) return AdaptDownOf<L, BFloat16Numbers<L>>(adapter, x, in_features, inner);
  AdaptDownOf<L, WideNumbers<L>>(adapter, x, in_features, inner);
}

template <typename L>
void AdaptUp(const AdapterJob& job) {
  if (job.adapter.format == BlockFormat::kF16) return AdaptUpOf<L, HalfNumbers<L>>(job);
  if (job.adapter.format == BlockFormat::kBF16) return AdaptUpOf<L, BFloat16Numbers<L>>(job);
  AdaptUpOf<L, WideNumbers<L>>(job);
}

}  // namespace tessera
