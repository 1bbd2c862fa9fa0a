// A file's own pages in the system's cache, mapped while no program may change the file: bytes that need no copy.
//
//   if (const std::unique_ptr<BorrowedPages> pages = BorrowedPages::Map(file.descriptor(), file.size())) {
//     const absl::Span<const std::byte> some = pages->bytes().subspan(0, 4 << 20);
//     if (pages->Hold(some)) Use(some);
//   }
//
// What a mapping is feared for does not happen to this one:
//   A program shortens or overwrites the file. A lease (fcntl, F_SETLEASE) makes a program that opens it for writing wait until Return;
//   with O_NONBLOCK, as coreutils' truncate has it, that program gets EAGAIN instead. Where the file is open for writing already, the user
//   may not have leases, or a file system does not keep them (FUSE), there is no mapping. The system waits for
//   /proc/sys/fs/lease-break-time (45 s) and no longer, so this is for a moment's use, not for that of a program's whole life.
//   The disk fails. Hold says so; bytes are looked at only once the system had them all. (It may drop them and fail to fetch them again, as
//   with the pages of a program that runs.)
// What the cache has little of is not fetched: reading it is faster. A page here and there is, for a system that needs memory takes back a
// few of every file, and stays there as the others do.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace tessera {

class BorrowedPages {
 public:
  // Null where the system does not lend the file, or has no place to map it. The descriptor must outlive this, be open for reading alone,
  // and have no other lease.
  static std::unique_ptr<BorrowedPages> Map(int descriptor, int64_t size);
  ~BorrowedPages();
  BorrowedPages(const BorrowedPages&) = delete;
  BorrowedPages& operator=(const BorrowedPages&) = delete;

  absl::Span<const std::byte> bytes() const { return {mapped_, static_cast<size_t>(size_)}; }
  // True if the system's cache has these, or had most of them; they may then be read, without delay. REQUIRES: they are of bytes(), from a
  // multiple of 4096 on.
  bool Hold(absl::Span<const std::byte> bytes) const;
  // These no longer count as this process's memory. A thread that reads them still finds them.
  void Drop(absl::Span<const std::byte> bytes) const;
  // The file may be changed again: none of bytes() may be read any more. May be called several times.
  void Return() const;

 private:
  BorrowedPages(int descriptor, std::byte* mapped, int64_t size) : descriptor_(descriptor), mapped_(mapped), size_(size) {}

  const int descriptor_;
  std::byte* const mapped_;
  const int64_t size_;
};

}  // namespace tessera
