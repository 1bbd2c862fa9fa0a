// The pages that a cache lies on: small ones as it begins to fill, large ones from the half on.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/large_pages.h"
#include "tessera/model/kv_cache.h"

namespace tessera {
namespace {

// KiB of this process that lie on large pages; 0 if the system does not say.
int64_t LargePageKib() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string line;
  int64_t kib = 0;
  while (std::getline(file, line)) {
    if (std::sscanf(line.c_str(), "AnonHugePages: %" SCNd64, &kib) == 1) return kib;
  }
  return 0;
}

TEST(KvCache, AHalfFullCacheMovesToLargePagesAndKeepsItsContents) {
  constexpr int kSlots = 1 << 15, kSize = 64;
  const auto cache = *KvCache::Create({.layers = 1, .heads = 1, .head_size = kSize, .slots = kSlots});
  const KvCache::SequenceId text = cache->NewSequence();
  const KvView view = cache->View(0);
  ASSERT_EQ(cache->Extend(text, kSlots / 2 - 1), absl::OkStatus());
  for (int slot = 0; slot < kSlots / 2; ++slot) view.Keys<uint16_t>(0, 0)[view.KeyIndex(slot, 0)] = static_cast<uint16_t>(slot);
  const int64_t before = LargePageKib();
  ASSERT_EQ(cache->Extend(text, 1), absl::OkStatus());
  const int64_t moved = LargePageKib() - before;
  for (int slot = 0; slot < kSlots / 2; ++slot) {
    ASSERT_EQ(view.Keys<uint16_t>(0, 0)[view.KeyIndex(slot, 0)], static_cast<uint16_t>(slot));
  }
  AlignedBuffer other = *AlignedBuffer::Allocate(4 << 20, AlignedBuffer::Pages::kSmall);
  other.data()[0] = std::byte{1};
  MoveToLargePages(other.bytes());
  if (other.LargePageBytes() == 0) GTEST_SKIP() << "this system moves no memory to large pages";
  EXPECT_GE(moved, kSlots / 2 * kSize * 2 / 1024);
}

}  // namespace
}  // namespace tessera
