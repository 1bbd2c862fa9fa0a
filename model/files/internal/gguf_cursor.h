// Reads the fields of a GGUF file one after the other. Errors name the field, the field's offset and the problem.
//
//   GgufCursor cursor(&bytes, "model.gguf");                             // a GgufBytes
//   cursor.Enter("metadata \"general.name\"");                          // the next fields belong to this
//   ASSIGN_OR_RETURN(const uint32_t type, cursor.Read<uint32_t>("type"));
//   if (type > 12) return cursor.Error("type", "found 13, expected 0 to 12");
//
// No read leaves the file or its header (GgufBytes::kLongestHeader). Views stay valid as long as the bytes. Thread-compatible.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/gguf_bytes.h"

namespace tessera {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie in the file");

class GgufCursor {
 public:
  GgufCursor(GgufBytes* bytes, absl::string_view file) : bytes_(*bytes), file_(file) {}

  int64_t offset() const { return offset_; }
  uint64_t left() const { return static_cast<uint64_t>(bytes_.size() - offset_); }  // Bytes of the file.

  // Names the owner of the following fields. Empty: the file itself.
  void Enter(std::string place) { place_ = std::move(place); }

  // Reads the next number. `index` is for repeated fields, else -1. Returns InvalidArgument if the file ends before.
  template <typename T>
  absl::StatusOr<T> Read(const char* field, int64_t index = -1) {
    begin_ = offset_;
    RETURN_IF_ERROR(Need(sizeof(T), field, index));
    T value;
    std::memcpy(&value, header_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  absl::StatusOr<absl::Span<const std::byte>> Take(uint64_t size, const char* field, int64_t index = -1);

  // Returns the bytes that were read since the cursor was at `offset`.
  absl::Span<const std::byte> Since(int64_t offset) const {
    return header_.subspan(static_cast<size_t>(offset), static_cast<size_t>(offset_ - offset));
  }

  // Reads a 64-bit length and as many bytes. `shortest` and `longest` bound the length, and so does the end of the file.
  absl::StatusOr<absl::string_view> ReadString(const char* field, uint64_t shortest, uint64_t longest, int64_t index = -1);

  // Skips a string of any length, if the whole string has already been read from the file, like most of the many strings. Otherwise returns
  // false; then call ReadString.
  bool SkipString() {
    const size_t rest = header_.size() - static_cast<size_t>(offset_);
    uint64_t length;
    if (rest < sizeof length) return false;
    std::memcpy(&length, header_.data() + offset_, sizeof length);
    if (length > rest - sizeof length) return false;
    offset_ += static_cast<int64_t>(sizeof length + length);
    return true;
  }

  // Returns InvalidArgument with file, place and field, the offset of the last field, and the problem.
  absl::Status Error(const char* field, absl::string_view problem, int64_t index = -1) const;
  absl::Status ErrorAt(int64_t offset, const char* field, absl::string_view problem, int64_t index = -1) const;

 private:
  // Makes sure that the next `size` bytes are in header_.
  absl::Status Need(uint64_t size, const char* field, int64_t index) {
    if (size <= header_.size() - static_cast<size_t>(offset_)) return absl::OkStatus();
    return ReadMore(size, field, index);
  }
  absl::Status ReadMore(uint64_t size, const char* field, int64_t index);

  GgufBytes& bytes_;
  absl::Span<const std::byte> header_;  // The file, as far as read.
  std::string file_;
  std::string place_;
  int64_t offset_ = 0;
  int64_t begin_ = 0;  // Start of the last field.
};

}  // namespace tessera
