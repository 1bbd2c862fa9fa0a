// Files of seeded random bytes, for tests of readers.
//
//   const std::string path = WriteRandomFile(folder.Path("weights"), /*bytes=*/1 << 20, /*seed=*/7);
//   EXPECT_TRUE(HoldsRandomBytes(read, /*offset=*/4096, /*seed=*/7));
//
// Byte i of the file is a function of the seed and i alone. Thread-safe.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/base/random.h"

namespace tessera {

inline void FillRandomBytes(absl::Span<std::byte> out, int64_t offset, uint64_t seed) {
  for (size_t i = 0; i < out.size(); i += 8) {
    const uint64_t word = CounterRandom(seed, 0, (offset + i) / 8);
    std::memcpy(&out[i], &word, std::min(out.size() - i, sizeof(word)));
  }
}

inline std::string RandomBytes(int64_t bytes, uint64_t seed) {
  std::string text(bytes, '\0');
  FillRandomBytes({reinterpret_cast<std::byte*>(text.data()), text.size()}, 0, seed);
  return text;
}

inline std::string WriteRandomFile(const std::string& path, int64_t bytes, uint64_t seed) {
  std::ofstream(path, std::ios::binary) << RandomBytes(bytes, seed);
  return path;
}

// Returns whether these are the bytes from `offset` on of such a file. REQUIRES: offset is a multiple of 8.
inline testing::AssertionResult HoldsRandomBytes(absl::Span<const std::byte> found, int64_t offset, uint64_t seed) {
  std::vector<std::byte> expected(found.size());
  FillRandomBytes(absl::MakeSpan(expected), offset, seed);
  const size_t same = std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin();
  if (same == found.size()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "byte " << offset + static_cast<int64_t>(same) << " of seed " << seed << " differs";
}

inline void DropFromPageCache(int descriptor) {
  PCHECK(fsync(descriptor) == 0);  // The kernel cannot drop pages that are not on the disk yet.
  PCHECK(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0);
}

// Returns the number of pages of an open file in the page cache.
inline int64_t CachedPages(int descriptor, int64_t file_bytes) {
  void* const mapped = mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  PCHECK(mapped != MAP_FAILED);
  std::vector<unsigned char> present((file_bytes + 4095) / 4096);
  PCHECK(mincore(mapped, file_bytes, present.data()) == 0);
  munmap(mapped, file_bytes);
  return std::count_if(present.begin(), present.end(), [](unsigned char page) { return page & 1; });
}

}  // namespace tessera
