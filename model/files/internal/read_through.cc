#include "tessera/model/files/internal/read_through.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/open_block_device.h"

namespace tessera {
namespace {

// With blocks of this size and two reads in flight, a drive is nearly at full speed. Memory is new for each file, so more memory would cost
// more.
constexpr int64_t kBlockBytes = int64_t{512} << 10;
constexpr int64_t kBlocks = 3;                         // In flight, or in use.
constexpr int64_t kPlainBytes = int64_t{256} << 10;    // Bytes per read from the page cache: a core's own cache then holds the bytes.

// Hands out the bytes of each block that belong to a part.
class PartsInOrder {
 public:
  PartsInOrder(absl::Span<const WantedPart> parts, UseOfPart use) : parts_(parts), use_(use) {}

  // Takes the file's bytes from `offset` on. REQUIRES: blocks come in order.
  absl::Status Take(int64_t offset, absl::Span<const std::byte> bytes) {
    const int64_t end = offset + static_cast<int64_t>(bytes.size());
    while (part_ < parts_.size() && parts_[part_].offset < end) {
      const WantedPart& part = parts_[part_];
      const int64_t first = std::max(part.offset, offset), last = std::min(part.offset + part.size, end);
      if (first < last) {
        RETURN_IF_ERROR(use_(part_, first - part.offset,
                             bytes.subspan(static_cast<size_t>(first - offset), static_cast<size_t>(last - first))));
      }
      if (part.offset + part.size > end) break;
      ++part_;
    }
    return absl::OkStatus();
  }

 private:
  const absl::Span<const WantedPart> parts_;
  const UseOfPart use_;
  size_t part_ = 0;   // The first part that is not complete.
};

absl::Status ReadPlain(const RandomAccessFile& file, int64_t begin, int64_t end, PartsInOrder& parts) {
  ASSIGN_OR_RETURN(const AlignedBuffer buffer,
                   AlignedBuffer::Allocate(std::min(kPlainBytes, end - begin), AlignedBuffer::Pages::kSmall, file.path()));
  while (begin < end) {
    const absl::Span<std::byte> block = buffer.bytes().first(static_cast<size_t>(std::min(buffer.size(), end - begin)));
    RETURN_IF_ERROR(file.Read(begin, block));
    RETURN_IF_ERROR(parts.Take(begin, block));
    begin += static_cast<int64_t>(block.size());
  }
  return absl::OkStatus();
}

// Whole blocks of the device; the next blocks are read while earlier blocks are in use.
class BlocksInOrder {
 public:
  BlocksInOrder(BlockDevice& device, const AlignedBuffer& arena, int64_t begin, int64_t end)
      : arena_(arena), begin_(begin), end_(end), reader_(device, {.block_bytes = kBlockBytes}) {
    while (started_ < kBlocks && OffsetOf(started_) < end_) Start();
  }

  absl::Status GiveTo(PartsInOrder& parts) {
    for (int64_t block = 0; OffsetOf(block) < end_; ++block) {
      bool& came = came_[block % kBlocks];
      while (!came) {
        const BlockReader::Finished finished = reader_.Next();
        RETURN_IF_ERROR(finished.status);
        came_[finished.id % kBlocks] = true;
      }
      came = false;
      RETURN_IF_ERROR(parts.Take(OffsetOf(block), BytesOf(block)));
      if (OffsetOf(started_) < end_) Start();
    }
    return absl::OkStatus();
  }

 private:
  int64_t OffsetOf(int64_t block) const { return begin_ + block * kBlockBytes; }
  absl::Span<std::byte> BytesOf(int64_t block) const {
    const int64_t size = std::min(kBlockBytes, end_ - OffsetOf(block));
    return arena_.bytes().subspan(static_cast<size_t>(block % kBlocks * kBlockBytes), static_cast<size_t>(size));
  }
  void Start() {
    reader_.Start({.offset = OffsetOf(started_), .out = BytesOf(started_), .id = static_cast<uint64_t>(started_)});
    ++started_;
  }

  const AlignedBuffer& arena_;
  const int64_t begin_, end_;
  BlockReader reader_;
  int64_t started_ = 0;
  bool came_[kBlocks] = {};
};

// Returns false if the device is no faster than the page cache.
absl::StatusOr<bool> ReadPastCache(const std::shared_ptr<const RandomAccessFile>& file, int64_t begin, int64_t end, PartsInOrder& parts) {
  ASSIGN_OR_RETURN(const AlignedBuffer arena, AlignedBuffer::Allocate(kBlocks * kBlockBytes, AlignedBuffer::Pages::kSmall, file->path()));
  ASSIGN_OR_RETURN(const OpenedDevice opened, OpenBlockDevice(file, {.depth = static_cast<int>(kBlocks) - 1}));
  if (opened.io == IoKind::kBuffered) return false;
  RETURN_IF_ERROR(BlocksInOrder(*opened.device, arena, begin, end).GiveTo(parts));
  return true;
}

}  // namespace

absl::Status ReadThrough(const std::shared_ptr<const RandomAccessFile>& file, absl::Span<const WantedPart> parts, UseOfPart use) {
  if (parts.empty()) return absl::OkStatus();
  PartsInOrder in_order(parts, use);
  int64_t begin = parts.front().offset;
  const int64_t end = parts.back().offset + parts.back().size;
  // A device reads whole aligned blocks; bytes behind the last block are read in another way.
  const int64_t first = begin / BlockDevice::kAlignment * BlockDevice::kAlignment;
  const int64_t last = std::min(AlignUp(end, BlockDevice::kAlignment), file->size() / BlockDevice::kAlignment * BlockDevice::kAlignment);
  if (last - first > kBlockBytes && file->CachedBytes() < file->size() / 2) {
    ASSIGN_OR_RETURN(const bool was_read, ReadPastCache(file, first, last, in_order));
    if (was_read) begin = last;
  }
  return begin < end ? ReadPlain(*file, begin, end, in_order) : absl::OkStatus();
}

absl::Status UseParts(absl::Span<const std::byte> file, absl::Span<const WantedPart> parts, UseOfPart use) {
  return PartsInOrder(parts, use).Take(0, file);
}

}  // namespace tessera
