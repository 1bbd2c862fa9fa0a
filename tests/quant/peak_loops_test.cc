#include "tessera/quant/peak_loops.h"

#include <gtest/gtest.h>

#include "tessera/base/aligned_buffer.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

TEST(PeakLoops, HeaderExample) {
  const TickingClock clock(1'000'000);
  const auto Seconds = [&] { return static_cast<double>(clock.NowNanos()) * 1e-9; };
  const PeakLoops& loops = MatMulKernelsFor(BestKernelPath()).peaks;
  const double begin = Seconds();
  const int64_t products = loops.int8(PeakLoops::kMostRounds);
  double rate = static_cast<double>(products) / (Seconds() - begin);
  EXPECT_NEAR(rate, 1e3 * static_cast<double>(products), 1e-6 * rate);
}

TEST(PeakLoops, ReadSeesEveryByte) {
  AlignedBuffer buffer = *AlignedBuffer::Allocate(4 * PeakLoops::kReadStep);
  for (KernelPath path : SupportedKernelPaths()) {
    const PeakLoops& loops = MatMulKernelsFor(path).peaks;
    EXPECT_EQ(loops.read(buffer.data(), buffer.size()), 0);
    for (int64_t i = 0; i < buffer.size(); ++i) {
      for (std::byte value : {std::byte{1}, std::byte{0x80}}) {
        buffer.data()[i] = value;
        ASSERT_NE(loops.read(buffer.data(), buffer.size()), 0) << KernelPathName(path) << " byte " << i;
      }
      buffer.data()[i] = std::byte{0};
    }
  }
}

// The result is a sum that the products themselves make: it is right only if each was done.
TEST(PeakLoops, ProductsGrowWithTheRoundsAndWithNothingElse) {
  for (KernelPath path : SupportedKernelPaths()) {
    const PeakLoops& loops = MatMulKernelsFor(path).peaks;
    for (auto* loop : {loops.int8, loops.fp32}) {
      const int64_t once = loop(1);
      EXPECT_EQ(loop(0), 0);
      EXPECT_EQ(once % 16, 0) << KernelPathName(path);
      EXPECT_GE(once, 3 * 16) << KernelPathName(path);
      for (int64_t rounds : {int64_t{2}, int64_t{1000}, PeakLoops::kMostRounds / 16, PeakLoops::kMostRounds}) {
        if (path == KernelPath::kPortable && rounds == PeakLoops::kMostRounds) continue;  // Seconds.
        EXPECT_EQ(loop(rounds), rounds * once) << KernelPathName(path);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
