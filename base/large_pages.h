// Moves memory from small pages to large pages, once the memory is known to be used.
//
//   AlignedBuffer cache = *AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kSmall);   // backed page by page, as it fills
//   MoveToLargePages(cache.bytes());                                                       // half of it is full by now
//
// Walking memory from front to back is up to 1.5 times as fast on large pages.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Backs each whole large page of `memory` that was touched anywhere as a large page; the contents stay. Takes some 20 ms for 100 MB, and
// many times longer if the system must first make room. If the system has no large pages left, nothing changes.
// Threads: other threads may read and write the memory meanwhile.
void MoveToLargePages(absl::Span<std::byte> memory);

}  // namespace tessera
