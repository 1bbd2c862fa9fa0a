// Reads parts of a file from start to end at the drive's speed, while the caller uses earlier parts.
//
//   const std::vector<WantedPart> parts = {{.offset = 4096, .size = 9216}, {.offset = 13312, .size = 3072}};
//   RETURN_IF_ERROR(ReadThrough(file, parts, [&](size_t part, int64_t begin, absl::Span<const std::byte> bytes) {
//     return Use(part, begin, bytes);                    // bytes of one part, from its byte `begin` on, in order
//   }));
//
// A file in the page cache is read from the cache. Any other file is read past the cache, in blocks of half a mebibyte. Three blocks are in
// memory at once, two of them in flight. Bytes between parts are read along. Errors: the errors of RandomAccessFile::Read, of BlockReader
// and of `use`. An error of `use` ends the reading. Threads: thread-safe; `use` is called on the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/file.h"

namespace tessera {

struct WantedPart {
  int64_t offset = 0;   // In the file.
  int64_t size = 0;
};

using UseOfPart = absl::FunctionRef<absl::Status(size_t part, int64_t begin, absl::Span<const std::byte> bytes)>;

// Reads parts of a file. REQUIRES: parts ascend, have no byte in common, and lie in the file. Parts without bytes are not used.
absl::Status ReadThrough(const std::shared_ptr<const RandomAccessFile>& file, absl::Span<const WantedPart> parts, UseOfPart use);

// Reads parts of bytes in memory.
absl::Status UseParts(absl::Span<const std::byte> file, absl::Span<const WantedPart> parts, UseOfPart use);

}  // namespace tessera
