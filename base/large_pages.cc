#include "tessera/base/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

#include "tessera/base/checked_math.h"

namespace tessera {

// MADV_COLLAPSE of Linux 6.1, which older C libraries do not define. An older Linux refuses the call and moves pages over time.
constexpr int kCollapse = 25;

void MoveToLargePages(absl::Span<std::byte> memory) {
  constexpr int64_t kLargePage = int64_t{2} << 20;
  const int64_t begin = AlignUp(reinterpret_cast<intptr_t>(memory.data()), kLargePage);
  const int64_t end = reinterpret_cast<intptr_t>(memory.data() + memory.size()) / kLargePage * kLargePage;
  if (begin >= end) return;
  void* const pages = reinterpret_cast<void*>(begin);
  madvise(pages, end - begin, MADV_HUGEPAGE);
  madvise(pages, end - begin, kCollapse);
}

}  // namespace tessera
