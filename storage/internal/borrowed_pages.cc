#include "tessera/storage/internal/borrowed_pages.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>

#ifndef MADV_POPULATE_READ  // Of Linux 5.14; older ones answer EINVAL.
#define MADV_POPULATE_READ 22
#endif

namespace tessera {
namespace {

// The system tells of who waits for the lease by a signal, SIGIO unless another is asked for, which would end the process. One that
// processes ignore unless they ask for it does no harm, and nobody needs it: the lease ends soon in any case.
bool Lease(int descriptor) {
  struct statfs found;  // What others write to a file system of a user's program, or of a virtual machine's host, no lease keeps away.
  if (fstatfs(descriptor, &found) != 0 || found.f_type == FUSE_SUPER_MAGIC) return false;
  return fcntl(descriptor, F_SETSIG, SIGURG) == 0 && fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0;
}

// How much of this part of a file the system's cache has, or is reading; below 0 if it does not say.
int64_t BytesInCache(int descriptor, int64_t offset, int64_t bytes) {
  constexpr long kCacheStat = 451;  // Of Linux 6.5, on every architecture.
  struct { uint64_t offset, bytes; } const part = {static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes)};
  struct { uint64_t cached, dirty, written_back, evicted, lately_evicted; } pages = {};
  return syscall(kCacheStat, descriptor, &part, &pages, 0) == 0 ? static_cast<int64_t>(pages.cached) * sysconf(_SC_PAGESIZE) : -1;
}

// The same for other systems, by a page here and there: to ask for each would take as long as to map it.
bool MostIsInMemory(std::byte* begin, size_t bytes) {
  constexpr size_t kAskedEvery = 128 << 10;
  size_t held = 0, asked = 0;
  for (size_t at = 0; at < bytes; at += kAskedEvery, ++asked) {
    unsigned char page = 0;
    if (mincore(begin + at, 1, &page) == 0) held += page & 1;
  }
  return 2 * held > asked;
}

}  // namespace

std::unique_ptr<BorrowedPages> BorrowedPages::Map(int descriptor, int64_t size) {
  if (size <= 0 || !Lease(descriptor)) return nullptr;
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    fcntl(descriptor, F_SETLEASE, F_UNLCK);
    return nullptr;
  }
  return std::unique_ptr<BorrowedPages>(new BorrowedPages(descriptor, static_cast<std::byte*>(mapped), size));
}

BorrowedPages::~BorrowedPages() {
  munmap(mapped_, size_);
  Return();
}

void BorrowedPages::Return() const { fcntl(descriptor_, F_SETLEASE, F_UNLCK); }

bool BorrowedPages::Hold(absl::Span<const std::byte> bytes) const {
  std::byte* const begin = const_cast<std::byte*>(bytes.data());
  const int64_t size = static_cast<int64_t>(bytes.size());
  const int64_t cached = BytesInCache(descriptor_, begin - mapped_, size);
  // Who reads pages that are there has several mapped at once. To have them mapped before is for those that are not: it looks at each page.
  if (cached >= size) return true;
  const bool most = cached >= 0 ? 2 * cached > size : MostIsInMemory(begin, bytes.size());
  return most && madvise(begin, bytes.size(), MADV_POPULATE_READ) == 0;
}

void BorrowedPages::Drop(absl::Span<const std::byte> bytes) const {
  madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

}  // namespace tessera
