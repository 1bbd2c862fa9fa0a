// Returns the number of bytes in a range of memory that pages back now.
//
//   EXPECT_EQ(BackedBytes(lease.bytes()), 0);                    // it was given back
//
// REQUIRES: the range begins with a page. Thread-safe.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"

namespace tessera {

inline int64_t BackedBytes(absl::Span<const std::byte> range) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> backed((range.size() + page - 1) / page);
  PCHECK(mincore(const_cast<std::byte*>(range.data()), range.size(), backed.data()) == 0);
  return page * std::count_if(backed.begin(), backed.end(), [](unsigned char flags) { return flags & 1; });
}

}  // namespace tessera
