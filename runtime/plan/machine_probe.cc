#include "tessera/runtime/plan/machine_probe.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/status_macros.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {
namespace {

constexpr double kSecondsOfArithmetic = 0.02;
constexpr int kMostLooks = 1024;   // At a clock that stands still, or goes back.

// What a measurement took; at least a nanosecond, so that a rate is a number.
double TimeBetween(double begin, double end) { return std::max(end - begin, 1e-9); }

}  // namespace

absl::StatusOr<MachineProbe> MachineProbe::Create(ThreadPool& pool, KernelPath path, int64_t bytes, const Clock& clock) {
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kLarge, "measuring the machine"));
  MachineProbe probe(pool, MatMulKernelsFor(path).peaks, std::move(buffer), clock);
  pool.Run([&](int worker) {  // Each thread touches its own pages first, so that they are near it.
    const Share share = ShareOf(bytes / PeakLoops::kReadStep, worker, pool.threads());
    std::memset(probe.buffer_.data() + share.begin * PeakLoops::kReadStep, 1, (share.end - share.begin) * PeakLoops::kReadStep);
  });
  return probe;
}

double MachineProbe::Read() const {
  std::atomic<int64_t> seen{0};  // The result must be used, or the compiler removes the reads.
  double begin = 0;
  pool_->Run([&](int worker) {
    const Share share = ShareOf(buffer_.size() / PeakLoops::kReadStep, worker, pool_->threads());
    pool_->Barrier();
    if (worker == 0) begin = Now();
    seen += loops_->read(buffer_.data() + share.begin * PeakLoops::kReadStep, (share.end - share.begin) * PeakLoops::kReadStep);
  });
  const double seconds = TimeBetween(begin, Now());
  CHECK_GT(seen, 0);
  return static_cast<double>(buffer_.size()) / seconds;
}

double MachineProbe::RateOf(int64_t (*loop)(int64_t rounds)) const {
  std::vector<double> rates(pool_->threads());
  pool_->Run([&](int worker) {
    int64_t products = 0;
    pool_->Barrier();
    const double begin = Now();
    double end = begin;
    for (int looks = 0; end - begin < kSecondsOfArithmetic && (end > begin || looks < kMostLooks); ++looks) {
      products += loop(kRounds);
      end = Now();
    }
    rates[worker] = static_cast<double>(2 * products) / TimeBetween(begin, end);
  });
  double sum = 0;
  for (double rate : rates) sum += rate;
  return sum;
}

double MachineProbe::BarrierNanos() const {
  double seconds = 0;
  pool_->Run([&](int worker) {
    pool_->Barrier();
    const double begin = Now();
    for (int i = 0; i < kBarriers; ++i) pool_->Barrier();
    if (worker == 0) seconds = TimeBetween(begin, Now());
  });
  return seconds / kBarriers * 1e9;
}

double MachineProbe::Int8() const { return RateOf(loops_->int8); }
double MachineProbe::Fp32() const { return RateOf(loops_->fp32); }

}  // namespace tessera
