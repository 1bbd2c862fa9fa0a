// The loops of quant/peak_loops.h, a template over lanes (instruction set).
//
// The products multiply a block of rows by tiles, as in panel_kernel.h. A round loads one vector per tile and one scalar per row: fewer
// loads than products. Factors come from memory that looks volatile to the compiler (asm); otherwise the compiler would take products out
// of the loop. Sums are named one by one (kChain...), since g++ 12 keeps an array that a loop walks in memory.
#pragma once

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "tessera/quant/peak_loops.h"

namespace tessera {

template <typename L>
struct PeakKernel {
  using Products = typename L::Products8;
  // Chains of sums: 12 of one register, or 5 of several registers. So latency is hidden (4 or 5 cycles at two instructions per cycle), and
  // all sums stay in registers; AVX2 has 16. AVX2's sums of bytes wait only for an addition, and are there twice.
  static constexpr bool kOneRegister = !std::is_class_v<typename L::Int>;
  static constexpr int kTiles = kOneRegister ? 2 : 1;
  static constexpr int kInt8Rows = kOneRegister ? 6 : 3, kFp32Rows = kOneRegister ? 6 : 5;
  static constexpr int kLanes = 16, kLine = 64;

  template <int... kVector>
  static int64_t ReadBy(const std::byte* begin, int64_t bytes, std::integer_sequence<int, kVector...>) {
    typename L::Bytes seen[] = {L::LoadBytes(begin + kVector * kLine)...};
    for (const std::byte* p = begin; p < begin + bytes; p += PeakLoops::kReadStep) {
      ((seen[kVector] = L::Or(seen[kVector], L::LoadBytes(p + kVector * kLine))), ...);
    }
    const int8_t ones[4] = {1, 1, 1, 1};
    const typename L::Int zero = L::SetInt(0);
    return (... + int64_t{L::SumInt(Products::template EndPairs<0>(zero, Products::Dot(Products::BeginPairs(zero), seen[kVector], ones)))});
  }

  // A round is as many quads as can be added up before sums are widened, like a kernel's work on a group of 4-bit weights.
  static constexpr int kQuads = Products::template kQuadsOfPairs<4>;

  template <int... kChain, int... kQuad>
  static int64_t Int8By(int64_t rounds, std::integer_sequence<int, kChain...>, std::integer_sequence<int, kQuad...>) {
    alignas(kLine) std::byte weights[kQuads * kTiles * kLine];
    int8_t activations[kQuads * kInt8Rows * 4];
    std::fill(std::begin(weights), std::end(weights), std::byte{1});
    std::fill(std::begin(activations), std::end(activations), int8_t{1});
    typename L::Int sums[] = {L::SetInt(0 * kChain)...};
    for (; rounds > 0; --rounds) {
      asm volatile("" : "+m"(weights), "+m"(activations));
      typename Products::Pairs pairs[] = {Products::BeginPairs(sums[kChain])...};
      const auto add_quad = [&]<int kQ>() __attribute__((always_inline)) {
        ((pairs[kChain] = Products::Dot(pairs[kChain], L::LoadBytes(weights + (kQ * kTiles + kChain % kTiles) * kLine),
                                 activations + (kQ * kInt8Rows + kChain / kTiles) * 4)), ...);
      };
      (add_quad.template operator()<kQuad>(), ...);
      ((sums[kChain] = Products::template EndPairs<0>(sums[kChain], pairs[kChain])), ...);
    }
    return (... + int64_t{L::SumInt(sums[kChain])});
  }

  template <int... kChain>
  static int64_t Fp32By(int64_t rounds, std::integer_sequence<int, kChain...>) {
    float vectors[kTiles * kLanes], scalars[kFp32Rows];
    std::fill(std::begin(vectors), std::end(vectors), 1.0f);
    std::fill(std::begin(scalars), std::end(scalars), 1.0f);
    typename L::Float sums[] = {L::Set(0.0f * kChain)...};
    for (; rounds > 0; --rounds) {
      asm volatile("" : "+m"(vectors), "+m"(scalars));
      ((sums[kChain] = L::Fma(L::Load(vectors + kChain % kTiles * kLanes), L::Set(scalars[kChain / kTiles]), sums[kChain])), ...);
    }
    return (... + static_cast<int64_t>(L::Sum(sums[kChain])));  // Each at most kLanes * kMostRounds = 2^24, and exact.
  }

  template <int kCount>
  using Counted = std::make_integer_sequence<int, kCount>;
  static int64_t Read(const std::byte* begin, int64_t bytes) {
    return bytes == 0 ? 0 : ReadBy(begin, bytes, Counted<PeakLoops::kReadStep / kLine>());
  }
  static int64_t Int8(int64_t rounds) { return Int8By(rounds, Counted<kInt8Rows * kTiles>(), Counted<kQuads>()); }
  static int64_t Fp32(int64_t rounds) { return Fp32By(rounds, Counted<kFp32Rows * kTiles>()); }

  static constexpr PeakLoops kLoops = {Read, Int8, Fp32};
};

}  // namespace tessera
