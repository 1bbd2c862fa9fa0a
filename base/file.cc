#include "tessera/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/internal/file_kind.h"
#include "tessera/base/internal/read_to_end.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Also usable before main, where constants of other files are made.
int64_t PageBytes() {
  static const int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

struct OpenFile {
  Descriptor descriptor;
  struct stat opened;
  bool direct;
};

absl::StatusOr<OpenFile> OpenRegular(const std::string& path, bool direct = false) {
  // Checked before opening because opening a device can have effects. Checked again afterwards because the path may lead to another file by
  // then.
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return SystemError(path, "open");
  RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // O_NONBLOCK: opening a FIFO does not block.
  Descriptor descriptor(direct ? open(path.c_str(), kFlags | O_DIRECT) : -1);
  direct = descriptor.get() >= 0;
  if (!direct) descriptor = Descriptor(open(path.c_str(), kFlags));
  if (descriptor.get() < 0) return SystemError(path, "open");
  if (fstat(descriptor.get(), &found) != 0) return SystemError(path, "examine");
  RETURN_IF_ERROR(CheckRegular(path, found.st_mode));
  return OpenFile{std::move(descriptor), found, direct};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path, Caching caching) {
  ASSIGN_OR_RETURN(OpenFile opened, OpenRegular(path, caching == Caching::kDirect));
  auto file = std::unique_ptr<RandomAccessFile>(
      new RandomAccessFile(path, opened.descriptor.Release(), opened.opened, opened.direct));
  // No read-ahead: pages that the system reads ahead would look like pages that were there before.
  posix_fadvise(file->descriptor_, 0, 0, POSIX_FADV_RANDOM);
  void* const mapped = mmap(nullptr, std::max<int64_t>(file->size_, 1), PROT_NONE, MAP_SHARED, file->descriptor_, 0);
  if (mapped != MAP_FAILED) file->mapped_ = static_cast<std::byte*>(mapped);
  return file;
}

RandomAccessFile::~RandomAccessFile() {
  if (mapped_ != nullptr) munmap(mapped_, std::max<int64_t>(size_, 1));
  close(descriptor_);
}

absl::Status RandomAccessFile::Read(int64_t offset, absl::Span<std::byte> out) const {
  if (direct_) return ReadAll(offset, out);
  const int64_t begin = offset / PageBytes() * PageBytes(), end = AlignUp(offset + static_cast<int64_t>(out.size()), PageBytes());
  const std::vector<bool> held = PagesHeld(begin, end);
  RETURN_IF_ERROR(ReadAll(offset, out));
  for (auto page = held.begin(); (page = std::find(page, held.end(), false)) != held.end();) {
    const auto fetched = page;
    page = std::find(page, held.end(), true);
    posix_fadvise(descriptor_, begin + (fetched - held.begin()) * PageBytes(), (page - fetched) * PageBytes(), POSIX_FADV_DONTNEED);
  }
  return absl::OkStatus();
}

absl::Status RandomAccessFile::ReadAll(int64_t offset, absl::Span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path_, absl::StrCat("read ", out.size(), " bytes at byte ", offset));
    if (got == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": the file ends before byte ", offset, ", expected ", out.size(),
                                              " bytes more: it had ", size_, " bytes when it was opened"));
    }
    offset += got;
    out.remove_prefix(got);
  }
  return absl::OkStatus();
}

std::vector<bool> RandomAccessFile::PagesHeld(int64_t begin, int64_t end) const {
  end = std::min(end, AlignUp(size_, PageBytes()));
  if (mapped_ == nullptr || begin >= end) return {};
  std::vector<unsigned char> pages((end - begin) / PageBytes());
  if (mincore(mapped_ + begin, end - begin, pages.data()) != 0) return {};
  std::vector<bool> held;
  for (unsigned char page : pages) held.push_back((page & 1) != 0);
  return held;
}

int64_t RandomAccessFile::CachedBytes() const {
  const std::vector<bool> held = PagesHeld(0, AlignUp(size_, PageBytes()));
  return PageBytes() * std::count(held.begin(), held.end(), true);
}

absl::StatusOr<std::string> ReadFileToString(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const OpenFile file, OpenRegular(path));
  return ReadToEnd(file.descriptor.get(), path, file.opened.st_size, max_bytes);
}

}  // namespace tessera
