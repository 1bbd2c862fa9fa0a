#include "tessera/base/peak_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/internal/process_status.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(PeakMemory, HeaderExample) {
  constexpr int64_t budget = int64_t{1} << 40;
  int64_t left = budget;
  LOG(INFO) << "peak memory " << FormatKnownByteSize(PeakMemoryBytes());
  if (const std::optional<int64_t> own = OwnMemoryBytes()) left = budget - *own;
  EXPECT_LT(left, budget);
  EXPECT_GT(*PeakMemoryBytes(), 100'000);
  EXPECT_GT(*MappedFileBytes(), 100'000);
}

TEST(PeakMemory, AMissingOrBrokenFieldIsUnknown) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("status");
  EXPECT_EQ(StatusField(path, "VmHWM:"), std::nullopt) << "no /proc";
  for (const char* text : {"", "VmPeak:  12 kB\n", "VmHWM:\n", "VmHWM:  many kB\n", "VmHWM:  12\n"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(StatusField(path, "VmHWM:"), std::nullopt) << text;
  }
  std::ofstream(path) << "VmPeak:\t 99 kB\nVmHWM:\t    12 kB\n";
  EXPECT_EQ(StatusField(path, "VmHWM:"), 12 * 1024);
}

TEST(PeakMemory, GrowsByTouchedMemoryAndDoesNotShrink) {
  const int64_t before = *PeakMemoryBytes();
  constexpr int64_t kBytes = int64_t{64} << 20;
  {
    const AlignedBuffer buffer = *AlignedBuffer::Allocate(before + kBytes);
    std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{1});
  }
  EXPECT_GE(*PeakMemoryBytes(), before + kBytes);
}

}  // namespace
}  // namespace tessera
