#include "tessera/storage/internal/borrowed_pages.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "tessera/base/checked_math.h"

#ifndef MADV_POPULATE_READ  // Since Linux 5.14; older ones answer EINVAL.
#define MADV_POPULATE_READ 22
#endif

namespace tessera {
namespace {

// Takes a lease. When a program waits for the lease, the system sends a signal: SIGIO, which would end the process, unless another signal
// is set. SIGURG does no harm, since a process without a handler ignores SIGURG. The signal is not needed: the lease ends soon in any case.
bool Lease(int descriptor) {
  struct statfs found;  // On a file system of a user's program, or of a virtual machine's host, no lease keeps writers away.
  if (fstatfs(descriptor, &found) != 0 || found.f_type == FUSE_SUPER_MAGIC) return false;
  return fcntl(descriptor, F_SETSIG, SIGURG) == 0 && fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0;
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
  std::vector<unsigned char> pages(CeilDiv(static_cast<int64_t>(bytes.size()), sysconf(_SC_PAGESIZE)));
  if (mincore(begin, bytes.size(), pages.data()) != 0) return false;
  const size_t there = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  // Reading pages that are there maps several at once. Mapping pages beforehand looks at each page, which takes longer, and much longer in
  // several threads at once. So pages are mapped beforehand only if some are missing.
  return there == pages.size() || (2 * there > pages.size() && madvise(begin, bytes.size(), MADV_POPULATE_READ) == 0);
}

void BorrowedPages::Drop(absl::Span<const std::byte> bytes) const {
  madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

}  // namespace tessera
