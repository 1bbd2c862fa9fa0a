#include "tessera/model/text/jinja/internal/literals.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {
namespace {

bool IsDigit(absl::string_view text, size_t at) { return at < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at])); }

int DigitValue(char digit) {
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(digit));
  return lower >= '0' && lower <= '9' ? lower - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

// Returns the end of the digits from `at` on, with single underscores between digits.
size_t DigitsEnd(absl::string_view text, size_t at) {
  while (IsDigit(text, at) || (at < text.size() && text[at] == '_' && IsDigit(text, at + 1))) ++at;
  return at;
}

std::string WithoutUnderscores(absl::string_view text) {
  std::string plain;
  for (const char character : text) {
    if (character != '_') plain.push_back(character);
  }
  return plain;
}

// Returns the end of the float that begins here; 0: no float.
size_t FloatEnd(absl::string_view text) {
  const size_t whole = DigitsEnd(text, 0);
  size_t end = whole;
  if (end + 1 < text.size() && text[end] == '.' && IsDigit(text, end + 1)) end = DigitsEnd(text, end + 1);
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
    if (IsDigit(text, end + 1 + sign)) end = DigitsEnd(text, end + 1 + sign);
  }
  return end == whole ? 0 : end;
}

absl::StatusOr<NumberLiteral> ReadInteger(absl::string_view text) {
  int base = 10;
  size_t at = 0;
  if (text.size() > 2 && text[0] == '0') {
    const char mark = absl::ascii_tolower(static_cast<unsigned char>(text[1]));
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    const size_t first = text[2] == '_' ? 3 : 2;
    if (base != 10 && (first >= text.size() || DigitValue(text[first]) >= base)) base = 10;
    if (base != 10) at = 2;
  }
  // A decimal number that begins with 0 has no other digits: the rest is another token.
  const bool zeros = base == 10 && text[0] == '0';
  uint64_t value = 0;
  while (at < text.size()) {
    const size_t digit = text[at] == '_' ? at + 1 : at;
    if (digit >= text.size() || DigitValue(text[digit]) >= (zeros ? 1 : base)) break;
    const uint64_t next = static_cast<uint64_t>(DigitValue(text[digit]));
    if (value > (static_cast<uint64_t>(INT64_MAX) - next) / static_cast<uint64_t>(base)) return Fail("found an integer beyond 64 bits");
    value = value * static_cast<uint64_t>(base) + next;
    at = digit + 1;
  }
  return NumberLiteral{Value::Int(static_cast<int64_t>(value)), at};
}

// Reads the number of an escape such as \x41: `digits` digits of `base`, or fewer for octal escapes.
absl::StatusOr<uint32_t> EscapedCode(absl::string_view text, size_t& at, int base, int digits) {
  uint32_t code = 0;
  int read = 0;
  for (; read < digits && at < text.size() && DigitValue(text[at]) < base; ++read, ++at) code = code * base + DigitValue(text[at]);
  if (base == 16 && read < digits) return Fail("found an escape with ", read, " hexadecimal digits, expected ", digits);
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return Fail("found an escape for no Unicode character");
  return code;
}

// Reads an escape. `at` is behind the backslash.
absl::Status ReadEscape(absl::string_view text, size_t& at, std::string& out) {
  constexpr absl::string_view kNames = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
  const char name = text[at];
  if (const size_t known = kNames.find(name); known != absl::string_view::npos) {
    out.push_back(kMeanings[known]);
    ++at;
  } else if (name == '\n') {
    ++at;
  } else if (name == 'x' || name == 'u' || name == 'U') {
    ++at;
    ASSIGN_OR_RETURN(const uint32_t code, EscapedCode(text, at, 16, name == 'x' ? 2 : name == 'u' ? 4 : 8));
    out += Utf8Of(code);
  } else if (name >= '0' && name <= '7') {
    ASSIGN_OR_RETURN(const uint32_t code, EscapedCode(text, at, 8, 3));
    out += Utf8Of(code);
  } else if (name == 'N') {
    return Fail("found \\N in a string, an escape by name, which is not supported; expected \\u with a number");
  } else if (static_cast<unsigned char>(name) >= 0x80) {
    return Fail("found a backslash before a character beyond ASCII, expected \\\\ for a backslash");
  } else {
    out.push_back('\\');  // An unknown escape stays unchanged.
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NumberLiteral> ReadNumber(absl::string_view text, bool may_be_float) {
  const size_t end = may_be_float ? FloatEnd(text) : 0;
  if (end == 0) return ReadInteger(text);
  const std::string digits = WithoutUnderscores(text.substr(0, end));
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return Fail("found the number ", digits, ", which is beyond those of 64 bits");
  return NumberLiteral{Value::Float(value), end};
}

absl::StatusOr<StringLiteral> ReadString(absl::string_view text) {
  std::string out;
  for (size_t at = 1; at < text.size();) {
    if (text[at] == text[0]) return StringLiteral{std::move(out), at + 1};
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      RETURN_IF_ERROR(ReadEscape(text, at, out));
    } else {
      out.push_back(text[at++]);
    }
  }
  return Fail("found a string without its end, expected ", text.substr(0, 1));
}

}  // namespace tessera::jinja
