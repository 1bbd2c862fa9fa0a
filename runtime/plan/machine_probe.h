// Measures the best that this machine can do right now, on an engine's own threads and kernels, to compare each run with.
//
//   ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(*engine).pool(), KernelPath::kAvx2));
//   const double bytes_per_second = probe.Read();
//   const double operations_per_second = probe.Int8();
//
// Each probe takes some hundredths of a second. All threads begin together, behind a barrier: their start is not timed. Memory is
// read from a buffer far larger than any cache, on large pages where the system has them, each thread its own part. Rates of arithmetic
// count two operations per multiply-add. Threads: those of the pool, one call at a time.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/thread_pool.h"
#include "tessera/quant/peak_loops.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {

class MachineProbe {
 public:
  static constexpr int64_t kBufferBytes = int64_t{512} << 20;
  static constexpr int64_t kRounds = 1 << 12;   // Between readings of the clock: a few microseconds; some milliseconds in plain C++.
  static constexpr int kBarriers = 4096;        // They take less than one or two milliseconds.

  // `pool` and `clock` must outlive the probe. ResourceExhausted if there is no memory for the buffer. REQUIRES: bytes is a multiple of
  // PeakLoops::kReadStep; the larger, the less caches help.
  static absl::StatusOr<MachineProbe> Create(ThreadPool& pool, KernelPath path, int64_t bytes = kBufferBytes,
                                             const Clock& clock = RealClock());

  double Read() const;   // Bytes per second, all threads together.
  double Int8() const;   // Operations per second.
  double Fp32() const;
  // Nanoseconds of a thread barrier, with no work between two barriers. For cores that share a cache a barrier, and handing data to each
  // other, is several times as fast as for cores that do not. A virtual machine may change that between two runs.
  double BarrierNanos() const;

 private:
  MachineProbe(ThreadPool& pool, const PeakLoops& loops, AlignedBuffer buffer, const Clock& clock)
      : pool_(&pool), loops_(&loops), buffer_(std::move(buffer)), clock_(&clock) {}
  double Now() const { return static_cast<double>(clock_->NowNanos()) * 1e-9; }
  double RateOf(int64_t (*loop)(int64_t rounds)) const;

  ThreadPool* pool_;
  const PeakLoops* loops_;
  AlignedBuffer buffer_;
  const Clock* clock_;
};

}  // namespace tessera
