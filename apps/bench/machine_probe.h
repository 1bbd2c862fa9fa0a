// Measures what this machine can do at best right now, on an engine's own threads and kernels: a yardstick beside each run.
//
//   ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(*engine).pool(), KernelPath::kAvx2));
//   const double bytes_per_second = probe.Read();
//   const double operations_per_second = probe.Int8();
//
// Each probe takes some hundredths of a second. All threads begin together, behind a barrier: their start is not timed. Memory is
// read from a buffer far larger than any cache, on large pages where the system has them, each thread its own part. Rates of
// arithmetic count two operations a multiply-add. Threads: those of the pool, one call at a time.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/thread_pool.h"
#include "tessera/quant/peak_loops.h"
#include "tessera/runtime/core.h"

namespace tessera {

class MachineProbe {
 public:
  static constexpr int64_t kBufferBytes = int64_t{512} << 20;

  // `pool` must outlive it. ResourceExhausted if there is no memory for the buffer. REQUIRES: bytes is a multiple of
  // PeakLoops::kReadStep; the larger, the less caches help.
  static absl::StatusOr<MachineProbe> Create(ThreadPool& pool, KernelPath path, int64_t bytes = kBufferBytes);

  double Read() const;   // Bytes a second, of all threads together.
  double Int8() const;   // Operations a second.
  double Fp32() const;
  // Nanoseconds from barrier to barrier, where nothing is done between them. Cores that share a cache meet several times as fast as
  // cores that do not, and what they hand each other takes as long: that is what a virtual machine may change between two runs.
  double MeetingNanos() const;

 private:
  MachineProbe(ThreadPool& pool, const PeakLoops& loops, AlignedBuffer buffer)
      : pool_(&pool), loops_(&loops), buffer_(std::move(buffer)) {}
  double RateOf(int64_t (*loop)(int64_t rounds)) const;

  ThreadPool* pool_;
  const PeakLoops* loops_;
  AlignedBuffer buffer_;
};

}  // namespace tessera
