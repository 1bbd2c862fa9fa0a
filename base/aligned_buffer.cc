#include "tessera/base/aligned_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/internal/is_refusal.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

// Returns the alignment. From a huge page on, a buffer begins at a multiple of a huge page and is whole huge pages long, even on small
// pages.
constexpr int64_t PageOf(int64_t bytes) { return bytes >= kHugePage ? kHugePage : AlignedBuffer::kAlignment; }

// A mapping of `length` bytes at a multiple of the huge page: maps one page more and gives both ends back. advice: MADV_HUGEPAGE or
// MADV_NOHUGEPAGE; a system without huge pages refuses, and that is fine.
std::byte* MapOnHugeBoundary(int64_t length, int advice) {
  void* mapped = mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  std::byte* const begin = static_cast<std::byte*>(mapped);
  const int64_t head = AlignUp(reinterpret_cast<intptr_t>(begin), kHugePage) - reinterpret_cast<intptr_t>(begin);
  if (head > 0) munmap(begin, head);
  munmap(begin + head + length, kHugePage - head);          // head < kHugePage, so there is always a tail.
  madvise(begin + head, length, advice);
  return begin + head;
}

std::byte* MapOnSmallPages(int64_t length) {
  void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

}  // namespace

absl::StatusOr<AlignedBuffer> AlignedBuffer::Allocate(int64_t bytes, Pages pages, absl::string_view what) {
  if (bytes < 0) return absl::InvalidArgumentError(absl::StrCat("buffer size: found ", bytes, ", expected >= 0"));
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  ASSIGN_OR_RETURN(const int64_t length, CheckedAlignUp(bytes, PageOf(bytes)));
  RETURN_IF_ERROR(CheckedAdd(length, kHugePage).status());
  const int advice = pages == Pages::kLarge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
  buffer.data_ = bytes >= kHugePage ? MapOnHugeBoundary(length, advice) : MapOnSmallPages(length);
  if (buffer.data_ == nullptr) {
    const char* const why = std::strerror(errno);
    return absl::ResourceExhaustedError(absl::StrCat(what, what.empty() ? "" : ": ", "cannot allocate ", bytes, " bytes: ", why));
  }
  buffer.size_ = bytes;
  return buffer;
}

absl::Status AlignedBuffer::PrepareForDevices() {
  if (data_ == nullptr) return absl::OkStatus();
  const int64_t length = AlignUp(size_, PageOf(size_));
  madvise(data_, length, MADV_DONTFORK);
#ifdef MADV_POPULATE_WRITE  // Linux 5.14. Reports that memory ran out; touching the memory would end the process.
  if (madvise(data_, length, MADV_POPULATE_WRITE) == 0) return absl::OkStatus();
  if (!IsRefusal(errno)) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot back ", size_, " bytes with memory: ", std::strerror(errno)));
  }
#endif
  for (int64_t i = 0; i < length; i += kAlignment) static_cast<volatile std::byte*>(data_)[i] = data_[i];
  return absl::OkStatus();
}

absl::Status AlignedBuffer::GiveBack(int64_t offset, int64_t bytes) {
  CHECK(offset >= 0 && bytes >= 0 && bytes <= size_ - offset) << bytes << " bytes at " << offset << " of " << size_;
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t begin = AlignUp(offset, page), end = (offset + bytes) / page * page;
  if (begin >= end) return absl::OkStatus();
  madvise(data_ + begin, end - begin, MADV_NOHUGEPAGE);  // Else the system would fill up large pages again that are only partly used.
  if (madvise(data_ + begin, end - begin, MADV_DONTNEED) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot give ", end - begin, " bytes back to the system: ", std::strerror(errno)));
}

int64_t AlignedBuffer::LargePageBytes() const {
  std::FILE* const file = std::fopen("/proc/self/smaps", "re");
  if (file == nullptr) return 0;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data_), end = begin + size_;
  char line[256];
  bool ours = false;  // True if the following lines are about a mapping that holds a part of the buffer.
  int64_t bytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    uintptr_t first, last;
    int64_t kib;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2) ours = first < end && begin < last;
    if (ours && std::sscanf(line, "AnonHugePages: %" SCNd64 " kB", &kib) == 1) bytes += kib << 10;
  }
  std::fclose(file);
  return std::min(bytes, size_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  // The old memory goes with `taken`, which also makes self-assignment harmless.
  AlignedBuffer taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr) return;
  munmap(data_, AlignUp(size_, PageOf(size_)));  // If the system has no memory to split a mapping, this mapping stays.
}

}  // namespace tessera
