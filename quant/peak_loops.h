// The peak rates of a CPU: loops that only read memory, or only multiply and add. The yardstick for kernels.
//
//   const PeakLoops& loops = MatMulKernelsFor(BestKernelPath()).peaks;
//   const double begin = Seconds();
//   const int64_t products = loops.int8(PeakLoops::kMostRounds);
//   double rate = static_cast<double>(products) / (Seconds() - begin);       // multiply-adds per second, of one thread
//
// Each instruction set has its own loops, made of the same lanes as the kernels. The dot product of bytes is the instruction or sequence of
// a product with 4-bit weights. AVX-512 VNNI: vpdpbusd. AVX2: vpmaddubsw and vpaddw for each quad, vpmaddwd and vpaddd for all eight quads
// of a group. The count is useful multiply-adds, independent of the length of the sequence; printed rates count two operations for each.
// Thread-safe (pure functions); callers measure a rate of several threads (runtime/plan/machine_probe.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

struct PeakLoops {
  static constexpr int64_t kReadStep = 512;
  static constexpr int64_t kMostRounds = 1 << 20;

  // Reads every byte once, with the widest loads. Returns 0 if all bytes are 0, else another number. REQUIRES: 64-byte aligned, a multiple
  // of kReadStep.
  int64_t (*read)(const std::byte* begin, int64_t bytes);
  // Runs `rounds` rounds of products of bytes, or of FP32. Returns the number of multiply-adds, equal to their sum because all factors are
  // 1. There are enough independent chains to hide the latency. REQUIRES: 0 <= rounds <= kMostRounds.
  int64_t (*int8)(int64_t rounds);
  int64_t (*fp32)(int64_t rounds);
};

}  // namespace tessera
