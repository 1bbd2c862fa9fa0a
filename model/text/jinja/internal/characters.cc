#include "tessera/model/text/jinja/internal/characters.h"

#include <algorithm>

#include "absl/functional/function_ref.h"

namespace tessera::jinja {
namespace {

constexpr uint32_t kLoneByte = 0xDC00;

struct Range {
  uint32_t first, last;
};

// Characters beyond ASCII that are not printable (categories Cc, Cf, Cs, Co, Zl, Zp and Zs), and the noncharacters.
constexpr Range kUnprintable[] = {
    {0x00, 0x1F},       {0x7F, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
    {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},     {0x1680, 0x1680},   {0x180E, 0x180E},   {0x2000, 0x200F},
    {0x2028, 0x202F},   {0x205F, 0x206F},   {0x3000, 0x3000},   {0xD800, 0xF8FF},   {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},
    {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A}, {0xE0000, 0xE00FF}, {0xE01F0, 0x10FFFF},
};

bool Contains(absl::string_view set, absl::string_view character) {
  for (size_t at = 0; at < set.size();) {
    const size_t size = CharacterAt(set, at).size;
    if (set.substr(at, size) == character) return true;
    at += size;
  }
  return false;
}

size_t Leading(absl::string_view bytes, absl::FunctionRef<bool(absl::string_view, uint32_t)> wanted) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Character character = CharacterAt(bytes, at);
    if (!wanted(bytes.substr(at, character.size), character.code)) break;
    at += character.size;
  }
  return at;
}

// Returns the offset of the last character.
size_t LastCharacter(absl::string_view bytes) {
  for (size_t back = std::min<size_t>(4, bytes.size()); back > 1; --back) {
    if (CharacterAt(bytes, bytes.size() - back).size == back) return bytes.size() - back;
  }
  return bytes.size() - 1;
}

size_t Trailing(absl::string_view bytes, absl::FunctionRef<bool(absl::string_view, uint32_t)> wanted) {
  absl::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t last = LastCharacter(rest);
    if (!wanted(rest.substr(last), CharacterAt(rest, last).code)) break;
    rest = rest.substr(0, last);
  }
  return bytes.size() - rest.size();
}

}  // namespace

Character CharacterAt(absl::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : uint32_t{0}; };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  uint32_t code = first & (0xFFU >> (size + 1));
  bool good = first >= 0xC2 && first <= 0xF4;
  for (size_t i = 1; i < size; ++i) {
    good = good && (byte(i) & 0xC0U) == 0x80;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  good = good && code >= kLeast[size] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return good ? Character{code, size} : Character{kLoneByte + first, 1};
}

int64_t CountCharacters(absl::string_view bytes) {
  int64_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += CharacterAt(bytes, at).size) ++count;
  return count;
}

size_t OffsetOf(absl::string_view bytes, int64_t character) {
  size_t at = 0;
  for (; character > 0 && at < bytes.size(); --character) at += CharacterAt(bytes, at).size;
  return at;
}

size_t OffsetFromEnd(absl::string_view bytes, int64_t count) {
  for (; count > 0; --count) {
    if (bytes.empty()) return absl::string_view::npos;
    bytes = bytes.substr(0, LastCharacter(bytes));
  }
  return bytes.size();
}

std::string Utf8Of(uint32_t code) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
}

bool IsSpace(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool IsLineBreak(uint32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool IsPrintable(uint32_t code) {
  return !std::any_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [&](const Range& range) { return code >= range.first && code <= range.last; });
}

size_t LeadingSpace(absl::string_view bytes) {
  return Leading(bytes, [](absl::string_view, uint32_t code) { return IsSpace(code); });
}
size_t TrailingSpace(absl::string_view bytes) {
  return Trailing(bytes, [](absl::string_view, uint32_t code) { return IsSpace(code); });
}
size_t LeadingOf(absl::string_view bytes, absl::string_view set) {
  return Leading(bytes, [&](absl::string_view character, uint32_t) { return Contains(set, character); });
}
size_t TrailingOf(absl::string_view bytes, absl::string_view set) {
  return Trailing(bytes, [&](absl::string_view character, uint32_t) { return Contains(set, character); });
}

}  // namespace tessera::jinja
