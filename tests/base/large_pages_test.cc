#include "tessera/base/large_pages.h"

#include <sys/mman.h>

#include <cstring>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Whether it moves memory at once: Linux from 6.1 on, if nobody forbade it.
bool SystemMovesMemory() {
  AlignedBuffer buffer = *AlignedBuffer::Allocate(2 * kMiB, AlignedBuffer::Pages::kSmall);
  buffer.data()[0] = std::byte{1};
  madvise(buffer.data(), 2 * kMiB, MADV_HUGEPAGE);
  madvise(buffer.data(), 2 * kMiB, /*MADV_COLLAPSE*/ 25);
  return buffer.LargePageBytes() > 0;
}

TEST(LargePages, HeaderExample) {
  const int64_t bytes = 8 * kMiB;
  AlignedBuffer cache = *AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kSmall);
  for (int64_t i = 0; i < bytes; i += 8192) cache.data()[i] = std::byte{7};
  EXPECT_EQ(cache.LargePageBytes(), 0);
  MoveToLargePages(cache.bytes());
  for (int64_t i = 0; i < bytes; i += 4096) ASSERT_EQ(cache.data()[i], i % 8192 == 0 ? std::byte{7} : std::byte{0}) << i;
  if (!SystemMovesMemory()) GTEST_SKIP() << "this system moves no memory to large pages";
  EXPECT_EQ(cache.LargePageBytes(), bytes);
}

TEST(LargePages, PartsOfPagesAndUntouchedPagesAreLeftAlone) {
  AlignedBuffer cache = *AlignedBuffer::Allocate(8 * kMiB, AlignedBuffer::Pages::kSmall);
  std::memset(cache.data(), 7, 2 * kMiB);
  MoveToLargePages(cache.bytes().subspan(4096, 2 * kMiB));
  EXPECT_EQ(cache.LargePageBytes(), 0);
  MoveToLargePages({});
  MoveToLargePages(cache.bytes());
  EXPECT_LE(cache.LargePageBytes(), 2 * kMiB);
}

}  // namespace
}  // namespace tessera
