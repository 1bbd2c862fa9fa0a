#include "tessera/base/quoted.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

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

struct Range {
  uint32_t first, last;
};

// Characters that control or are invisible: such characters turn the direction of nearby text, or hide in the text.
constexpr Range kUnseen[] = {
    {0x00, 0x1f}, {0x7f, 0x9f},                                     // Controls.
    {0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c},                   // Soft hyphen, grapheme joiner, Arabic letter mark.
    {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},           // Fillers of Hangul, Khmer and Mongolian.
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},           // Without width, separators, directions, isolates.
    {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},           // Hangul filler, variation selectors, byte order mark.
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb},                             // Half-width filler, annotations.
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},     // Shorthand, music, tags.
};

bool IsUnseen(uint32_t code) {
  const auto holds = [code](const Range& range) { return range.first <= code && code <= range.last; };
  return std::any_of(std::begin(kUnseen), std::end(kUnseen), holds);
}

// The character of the sequence at the front of text. REQUIRES: length is SequenceLength(text), not 0.
uint32_t CodeOf(absl::string_view text, size_t length) {
  uint32_t code = static_cast<unsigned char>(text[0]);
  if (length > 1) code &= 0x7fU >> length;
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  return code;
}

// The bytes at the front of text up to the next character, if that may be shown; else 0.
size_t PrintableLength(absl::string_view text) {
  const size_t length = SequenceLength(text);
  return length == 0 || IsUnseen(CodeOf(text, length)) ? 0 : length;
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
    else absl::StrAppendFormat(&printable, "\\x%02x", static_cast<unsigned char>(text[0]));  // Further bytes begin no character.
    text.remove_prefix(length > 0 ? length : 1);
  }
  return printable;
}

std::string PrintableLine(absl::string_view text) { return absl::StrReplaceAll(Printable(text), {{"\n", "\\n"}}); }

}  // namespace tessera
