// The bytes of one GGUF file, on disk or in memory, or the file's header alone. The header is read into memory as needed; any other range
// can be read, too.
//
//   ASSIGN_OR_RETURN(GgufBytes bytes, GgufBytes::Open("model.gguf"));
//   ASSIGN_OR_RETURN(absl::Span<const std::byte> header, bytes.Header(24));    // does not move when more is read
//   RETURN_IF_ERROR(bytes.Read(tensor_offset, buffer));
//
// Threads: only one thread may call Header; all threads may call Read at once. Errors: the errors of RandomAccessFile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/file.h"
#include "tessera/base/shared_bytes.h"
#include "tessera/model/files/internal/read_through.h"

namespace tessera {

class GgufBytes {
 public:
  // Limit for the end of metadata and the table of tensors: several times the largest known header, and memory that a small device can
  // spare.
  static constexpr int64_t kLongestHeader = int64_t{64} << 20;
  // Limit for one file, and for all parts of a model: sums of such sizes, and sizes rounded up, stay far below 63 bits.
  static constexpr int64_t kLargestModel = int64_t{1} << 60;

  static absl::StatusOr<GgufBytes> Open(const std::string& path);
  static absl::StatusOr<GgufBytes> Of(std::unique_ptr<RandomAccessFile> file);
  // Bytes in memory, which must outlive this object.
  explicit GgufBytes(absl::Span<const std::byte> bytes)
      : memory_(bytes),
        header_(bytes.first(std::min<size_t>(bytes.size(), kLongestHeader))),
        size_(static_cast<int64_t>(bytes.size())) {}

  // The header of a file of `size` bytes, without the tensors' data. REQUIRES: the header has at most `size` bytes.
  GgufBytes(SharedBytes header, int64_t size)
      : shared_(std::move(header)), header_(shared_.span()), header_only_(true), size_(size) {}

  int64_t size() const { return size_; }
  int64_t CachedBytes() const { return file_ == nullptr ? 0 : file_->CachedBytes(); }
  absl::Status CheckUnchanged() const { return file_ == nullptr ? absl::OkStatus() : file_->CheckUnchanged(); }
  bool header_only() const { return header_only_; }
  // Limit for the end of metadata and tensor table.
  int64_t longest_header() const { return header_only_ ? static_cast<int64_t>(header_.size()) : kLongestHeader; }

  // Returns at least the first `end` bytes, valid while this object lives. REQUIRES: 0 <= end <= min(size(), longest_header()).
  absl::StatusOr<absl::Span<const std::byte>> Header(int64_t end);

  // REQUIRES: the range lies within size(), and !header_only().
  absl::Status Read(int64_t begin, absl::Span<std::byte> out) const;
  // Reads parts in order (read_through.h). REQUIRES: !header_only(), and the requirements of tessera::ReadThrough.
  absl::Status ReadThrough(absl::Span<const WantedPart> parts, UseOfPart use) const {
    return file_ == nullptr ? UseParts(memory_, parts, use) : tessera::ReadThrough(file_, parts, use);
  }

 private:
  std::shared_ptr<const RandomAccessFile> file_;  // Null for bytes in memory.
  AlignedBuffer buffer_;                    // Room for the header of a file; only read bytes take memory.
  absl::Span<const std::byte> memory_;      // Empty for a file.
  SharedBytes shared_;                      // The header, if there are no other bytes.
  absl::Span<const std::byte> header_;      // The header, as far as read.
  bool header_only_ = false;
  int64_t size_;
};

}  // namespace tessera
