#include "tessera/model/files/internal/gguf_cursor.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<absl::Span<const std::byte>> GgufCursor::Take(uint64_t size, const char* field, int64_t index) {
  begin_ = offset_;
  RETURN_IF_ERROR(Need(size, field, index));
  const absl::Span<const std::byte> taken = header_.subspan(static_cast<size_t>(offset_), static_cast<size_t>(size));
  offset_ += static_cast<int64_t>(size);
  return taken;
}

absl::StatusOr<absl::string_view> GgufCursor::ReadString(const char* field, uint64_t shortest, uint64_t longest, int64_t index) {
  ASSIGN_OR_RETURN(const uint64_t length, Read<uint64_t>(field, index));
  if (length < shortest || length > longest) {
    return Error(field, absl::StrCat("found a length of ", length, ", expected ", shortest, " to ", longest), index);
  }
  ASSIGN_OR_RETURN(const absl::Span<const std::byte> text, Take(length, field, index));
  return absl::string_view(reinterpret_cast<const char*>(text.data()), text.size());
}

absl::Status GgufCursor::Error(const char* field, absl::string_view problem, int64_t index) const {
  return ErrorAt(begin_, field, problem, index);
}

absl::Status GgufCursor::ErrorAt(int64_t offset, const char* field, absl::string_view problem, int64_t index) const {
  const std::string place = place_.empty() ? "" : absl::StrCat(place_, " ");
  const std::string number = index < 0 ? "" : absl::StrCat("[", index, "]");
  return absl::InvalidArgumentError(absl::StrCat(file_, ": ", place, field, number, " at byte ", offset, ": ", problem));
}

absl::Status GgufCursor::ReadMore(uint64_t size, const char* field, int64_t index) {
  if (size > left()) {
    return ErrorAt(offset_, field, absl::StrCat("the file is truncated: needs ", size, " bytes, ", left(), " left"), index);
  }
  const int64_t end = offset_ + static_cast<int64_t>(size);
  if (end > bytes_.longest_header()) {
    return ErrorAt(offset_, field, absl::StrCat("found ", size, " bytes, expected metadata and tensor table to end before byte ",
                                                bytes_.longest_header()), index);
  }
  ASSIGN_OR_RETURN(header_, bytes_.Header(end));
  return absl::OkStatus();
}

}  // namespace tessera
