#include "tessera/base/peak_memory.h"

#include <algorithm>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/byte_size.h"

namespace tessera {
namespace {

TEST(PeakMemory, HeaderExample) {
  LOG(INFO) << "peak memory " << FormatByteSize(PeakMemoryBytes());
  EXPECT_GT(PeakMemoryBytes(), 100'000);
}

TEST(PeakMemory, GrowsByWhatIsTouchedAndDoesNotShrink) {
  const int64_t before = PeakMemoryBytes();
  constexpr int64_t kBytes = int64_t{64} << 20;
  {
    const AlignedBuffer buffer = *AlignedBuffer::Allocate(before + kBytes);
    std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{1});
  }
  EXPECT_GE(PeakMemoryBytes(), before + kBytes);
}

}  // namespace
}  // namespace tessera
