// A file's own pages in the system's cache, mapped while no program may change the file: bytes that need no copy.
//
//   if (const std::unique_ptr<BorrowedPages> pages = BorrowedPages::Map(file.descriptor(), file.size())) {
//     const absl::Span<const std::byte> some = pages->bytes().subspan(0, 4 << 20);
//     if (pages->Hold(some)) Use(some);
//   }
//
// The usual dangers of a mapping are excluded:
//   A program shortens or overwrites the file. A lease (fcntl, F_SETLEASE) makes a program that opens it for writing wait until Return;
//   with O_NONBLOCK, as coreutils' truncate has it, that program gets EAGAIN instead. Where the file is open for writing already, the user
//   may not have leases, or a file system does not keep them (FUSE), there is no mapping. The system waits for
//   /proc/sys/fs/lease-break-time (45 s) and no longer, so this is for a moment's use, not for that of a program's whole life.
//   The disk fails. Hold says so; bytes are looked at only once the system had them all. (It may drop them and fail to fetch them again, as
//   with the pages of a program that runs.)
// Parts that are mostly missing in the cache are not fetched: reading is faster. Single missing pages are fetched. A system that needs
// memory takes back a few pages of every file; a fetched page stays in the cache as the others do. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace tessera {

class BorrowedPages {
 public:
  // Maps the file. Null if the system does not lend the file, or has no place to map it. The descriptor must outlive this object, be open
  // for reading alone, and have no other lease.
  static std::unique_ptr<BorrowedPages> Map(int descriptor, int64_t size);
  ~BorrowedPages();
  BorrowedPages(const BorrowedPages&) = delete;
  BorrowedPages& operator=(const BorrowedPages&) = delete;

  absl::Span<const std::byte> bytes() const { return {mapped_, static_cast<size_t>(size_)}; }
  // Returns true if the system's cache has these bytes, or had most of them; the bytes may then be read, without delay. REQUIRES: `bytes`
  // is part of bytes(), and begins at a multiple of 4096.
  bool Hold(absl::Span<const std::byte> bytes) const;
  // Stops counting these bytes as this process's memory. A thread that reads the bytes still finds them.
  void Drop(absl::Span<const std::byte> bytes) const;
  // Allows changes of the file again: none of bytes() may be read any more. May be called several times.
  void Return() const;

 private:
  BorrowedPages(int descriptor, std::byte* mapped, int64_t size) : descriptor_(descriptor), mapped_(mapped), size_(size) {}

  const int descriptor_;
  std::byte* const mapped_;
  const int64_t size_;
};

}  // namespace tessera
