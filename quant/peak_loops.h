// What a CPU can do at best: loops that read memory or multiply and add, and do nothing else. The yardstick for kernels.
//
//   const PeakLoops& loops = MatMulKernelsFor(BestKernelPath()).peaks;
//   const double begin = Seconds();
//   const int64_t products = loops.int8(PeakLoops::kMostRounds);
//   double rate = static_cast<double>(products) / (Seconds() - begin);       // multiply-adds per second, of one thread
//
// Each instruction set has its own, made of the same lanes as its kernels: the dot product of bytes is the instruction (AVX-512 VNNI:
// vpdpbusd) or the sequence (AVX2: vpmaddubsw and vpaddw for each quad, vpmaddwd and vpaddd for all eight of a group) that a product
// with 4-bit weights is made of. What counts is useful multiply-adds, whatever the sequence takes; printed rates count two operations
// for each. Thread-safe (pure functions); a rate of several threads is for the caller to measure (apps/plan/machine_probe.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

struct PeakLoops {
  static constexpr int64_t kReadStep = 512;
  static constexpr int64_t kMostRounds = 1 << 20;

  // Reads every byte once, by the widest loads. 0 if all bytes are 0, else not. REQUIRES: 64-byte aligned, a multiple of kReadStep.
  int64_t (*read)(const std::byte* begin, int64_t bytes);
  // So many rounds of products of bytes, and of FP32. The result is the number of multiply-adds, which is what they sum up to: all
  // factors are 1. Enough independent chains to hide the latency. REQUIRES: 0 <= rounds <= kMostRounds.
  int64_t (*int8)(int64_t rounds);
  int64_t (*fp32)(int64_t rounds);
};

}  // namespace tessera
