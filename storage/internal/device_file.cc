#include "tessera/storage/internal/device_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_device.h"
#include "tessera/storage/internal/verify_direct.h"

namespace tessera {
namespace {

absl::Status NoDirect(absl::string_view why) { return absl::FailedPreconditionError(absl::StrCat("O_DIRECT: ", why)); }

// Checks the file system's alignment for direct reads (Linux 6.1 and later tell).
absl::Status CheckDirectAlignment(int descriptor) {
#ifdef STATX_DIOALIGN
  struct statx found = {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) != 0) return absl::OkStatus();
  if (!(found.stx_mask & STATX_DIOALIGN)) return absl::OkStatus();
  if (found.stx_dio_offset_align == 0) return NoDirect("the file system says that it has none for this file");
  const int64_t alignment = std::max(found.stx_dio_offset_align, found.stx_dio_mem_align);
  if (alignment > BlockDevice::kAlignment) {
    return NoDirect(absl::StrCat("alignment: found ", alignment, ", expected at most ", BlockDevice::kAlignment));
  }
#endif
  return absl::OkStatus();
}

// Opens with O_NOATIME if allowed: only the file's owner may use O_NOATIME.
int OpenPastPageCache(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK;  // O_NONBLOCK: by now there may be a FIFO.
  const int descriptor = open(path.c_str(), kFlags | O_NOATIME);
  return descriptor < 0 && errno == EPERM ? open(path.c_str(), kFlags) : descriptor;
}

bool SameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

int64_t PreadOnce(int descriptor, int64_t offset, absl::Span<std::byte> out) {
  const ssize_t got = pread(descriptor, out.data(), out.size(), offset);
  return got < 0 ? -errno : got;
}

DeviceFile::DeviceFile(std::shared_ptr<const RandomAccessFile> plain) : plain_(std::move(plain)) {
  // Readahead would bring in more than requested, and leave the pages in the cache: the page cache counts as memory.
  posix_fadvise(this->plain(), 0, 0, POSIX_FADV_RANDOM);
  not_direct_ = std::string(OpenDirect().message());
}

absl::Status DeviceFile::OpenDirect() {
  int descriptor = OpenPastPageCache(absl::StrCat("/proc/self/fd/", plain()));  // The open file, also if moved or deleted.
  if (descriptor < 0) descriptor = OpenPastPageCache(path());                  // There may be no /proc.
  if (descriptor < 0) return NoDirect(std::strerror(errno));
  const auto check = [&]() -> absl::Status {
    struct stat found, expected;
    if (fstat(descriptor, &found) != 0 || fstat(plain(), &expected) != 0) return NoDirect(std::strerror(errno));
    if (!SameFile(found, expected)) return NoDirect("the file was replaced while it was being opened");
    RETURN_IF_ERROR(CheckDirectAlignment(descriptor));
    const absl::Status verified = VerifyDirect(
        size(), [&](int64_t offset, absl::Span<std::byte> out) { return PreadOnce(descriptor, offset, out); },
        [&](int64_t offset, absl::Span<std::byte> out) { return ReadPlain(offset, out); });
    return verified.ok() ? verified : NoDirect(verified.message());
  };
  const absl::Status usable = check();
  if (usable.ok()) {
    direct_ = descriptor;
  } else {
    close(descriptor);
  }
  return usable;
}

DeviceFile::DeviceFile(DeviceFile&& other) noexcept
    : plain_(std::move(other.plain_)),
      direct_(std::exchange(other.direct_, -1)),
      not_direct_(std::move(other.not_direct_)) {}

DeviceFile::~DeviceFile() {
  if (direct_ >= 0) close(direct_);
}

int64_t DeviceFile::ReadPlain(int64_t offset, absl::Span<std::byte> out) const {
  const int64_t got = PreadOnce(plain(), offset, out);
  posix_fadvise(plain(), offset, static_cast<off_t>(out.size()), POSIX_FADV_DONTNEED);
  return got;
}

}  // namespace tessera
