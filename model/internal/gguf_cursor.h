// Reads the fields of a GGUF file one after the other, and says of each that fails its name, offset and what was wrong.
//
//   GgufCursor cursor(bytes, "model.gguf");
//   cursor.Enter("metadata \"general.name\"");                          // what the next fields belong to
//   ASSIGN_OR_RETURN(const uint32_t type, cursor.Read<uint32_t>("type"));
//   if (type > 12) return cursor.Error("type", "found 13, expected 0 to 12");
//
// No read leaves the bytes. Views stay valid as long as the bytes. Thread-compatible.
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

namespace tessera {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie in the file");

// Text from a file, fit for a message: in quotes, escaped, and cut after 64 bytes.
std::string Quoted(absl::string_view text);

// True for UTF-8 without control characters (and so without NUL): what a key or a tensor's name may hold.
bool IsPrintableUtf8(absl::string_view text);

class GgufCursor {
 public:
  GgufCursor(absl::Span<const std::byte> bytes, absl::string_view file) : bytes_(bytes), file_(file) {}

  int64_t offset() const { return offset_; }
  uint64_t left() const { return bytes_.size() - static_cast<size_t>(offset_); }
  absl::string_view file() const { return file_; }

  // Names what the following fields are part of. Empty: the file itself.
  void Enter(std::string place) { place_ = std::move(place); }

  // The next number. `index` is for fields that repeat, else -1. InvalidArgument if the file ends before.
  template <typename T>
  absl::StatusOr<T> Read(const char* field, int64_t index = -1) {
    begin_ = offset_;
    if (left() < sizeof(T)) return Truncated(field, index, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  absl::StatusOr<absl::Span<const std::byte>> Take(uint64_t size, const char* field, int64_t index = -1);

  // A 64-bit length and as many bytes. The bounds are of the length; the file's end is one, too.
  absl::StatusOr<absl::string_view> ReadString(const char* field, uint64_t shortest, uint64_t longest, int64_t index = -1);

  // InvalidArgument: file, place and field, the offset of what was read last, and the problem.
  absl::Status Error(const char* field, absl::string_view problem, int64_t index = -1) const;
  absl::Status ErrorAt(int64_t offset, const char* field, absl::string_view problem, int64_t index = -1) const;

 private:
  absl::Status Truncated(const char* field, int64_t index, uint64_t needed) const;

  absl::Span<const std::byte> bytes_;
  std::string file_;
  std::string place_;
  int64_t offset_ = 0;
  int64_t begin_ = 0;  // Of the field read last.
};

}  // namespace tessera
