#include "tessera/model/internal/gguf_cursor.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kQuotedBytes = 64;

// Bytes of the UTF-8 sequence at the front of text, or 0 if there is none: overlong forms, surrogates and numbers above
// 0x10ffff are none.
size_t SequenceLength(absl::string_view text) {
  const auto at = [text](size_t i) -> uint32_t { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const uint32_t lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  if ((lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) >= 0xa0)) return 0;
  if ((lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) >= 0x90)) return 0;
  return length;
}

}  // namespace

std::string Quoted(absl::string_view text) {
  const bool cut = text.size() > kQuotedBytes;
  text = text.substr(0, kQuotedBytes);
  const std::string escaped = IsPrintableUtf8(text) ? absl::Utf8SafeCHexEscape(text) : absl::CHexEscape(text);
  return absl::StrCat("\"", escaped, cut ? "..." : "", "\"");
}

bool IsPrintableUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    const uint32_t lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x20 || lead == 0x7f) return false;
    if (lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) return false;  // U+0080 to U+009F: controls, too.
    text.remove_prefix(length);
  }
  return true;
}

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
  if (end > GgufBytes::kLongestHeader) {
    return ErrorAt(offset_, field, absl::StrCat("found ", size, " bytes, expected metadata and tensor table to end before byte ",
                                                GgufBytes::kLongestHeader), index);
  }
  ASSIGN_OR_RETURN(header_, bytes_.Header(end));
  return absl::OkStatus();
}

}  // namespace tessera
