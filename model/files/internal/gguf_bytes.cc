#include "tessera/model/files/internal/gguf_bytes.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kReadAtOnce = int64_t{256} << 10;

}  // namespace

absl::StatusOr<GgufBytes> GgufBytes::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  return Of(std::move(file));
}

absl::StatusOr<GgufBytes> GgufBytes::Of(std::unique_ptr<RandomAccessFile> file) {
  GgufBytes bytes({});
  bytes.file_ = std::move(file);
  bytes.size_ = bytes.file_->size();
  ASSIGN_OR_RETURN(bytes.buffer_, AlignedBuffer::Allocate(std::min(bytes.size_, kLongestHeader), AlignedBuffer::Pages::kSmall,
                                                          bytes.file_->path()));
  return bytes;
}

absl::StatusOr<absl::Span<const std::byte>> GgufBytes::Header(int64_t end) {
  const int64_t filled = static_cast<int64_t>(header_.size());
  if (end <= filled) return header_;
  const int64_t wanted = std::min(std::max(end, filled + kReadAtOnce), buffer_.size());
  RETURN_IF_ERROR(file_->Read(filled, buffer_.bytes().subspan(filled, wanted - filled)));
  header_ = buffer_.bytes().first(wanted);
  return header_;
}

absl::Status GgufBytes::Read(int64_t begin, absl::Span<std::byte> out) const {
  if (file_ != nullptr) return file_->Read(begin, out);
  if (!out.empty()) std::memcpy(out.data(), memory_.data() + begin, out.size());
  return absl::OkStatus();
}

}  // namespace tessera
