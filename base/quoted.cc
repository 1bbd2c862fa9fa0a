#include "tessera/base/quoted.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

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

// The bytes at the front of text up to the next character, if that may be shown; else 0.
size_t PrintableLength(absl::string_view text) {
  const size_t length = SequenceLength(text);
  const uint32_t lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x20 || lead == 0x7f) return 0;
  if (lead == 0xc2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xa0) return 0;  // U+0080 to U+009F: controls, too.
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
    const size_t length = PrintableLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string Printable(absl::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = text[0] == '\n' ? 1 : PrintableLength(text);
    if (length > 0) printable.append(text.data(), length);
    else absl::StrAppendFormat(&printable, "\\x%02x", static_cast<unsigned char>(text[0]));  // The bytes after it are not UTF-8 then.
    text.remove_prefix(length > 0 ? length : 1);
  }
  return printable;
}

std::string PrintableLine(absl::string_view text) { return absl::StrReplaceAll(Printable(text), {{"\n", "\\n"}}); }

}  // namespace tessera
