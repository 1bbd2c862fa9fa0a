#include "tessera/base/byte_size.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

struct Unit {
  absl::string_view name;
  int64_t bytes;
};
constexpr Unit kUnits[] = {{"B", 1},          {"KB", 1000},           {"MB", 1000 * 1000},   {"GB", 1000 * 1000 * 1000},
                           {"KiB", 1 << 10},  {"MiB", 1 << 20},       {"GiB", 1 << 30},
                           {"K", 1 << 10},    {"M", 1 << 20},         {"G", 1 << 30}};

constexpr int kMostFractionDigits = 9;  // More than any unit needs, and the arithmetic below stays within 128 bits.

absl::Status NotASize(absl::string_view text, absl::string_view problem) {
  constexpr size_t kLongest = 40;
  return absl::InvalidArgumentError(
      absl::StrCat("size: found \"", absl::CHexEscape(text.substr(0, kLongest)), "\" (", problem,
                   "), expected a number with B, KB, MB, GB, KiB, MiB, GiB, K, M, G or no unit, such as 1.5GiB"));
}

// Takes the digits at the front of *text into *value; false if value * 10^9 units could leave 128 bits.
bool TakeDigits(absl::string_view* text, int64_t* value, int* digits) {
  for (; !text->empty() && absl::ascii_isdigit(text->front()); text->remove_prefix(1), ++*digits) {
    if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, text->front() - '0', value)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<int64_t> ParseByteSize(absl::string_view text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  int64_t whole = 0, fraction = 0, scale = 1, unit_bytes = 0;
  int whole_digits = 0, fraction_digits = 0;
  if (!TakeDigits(&rest, &whole, &whole_digits)) return NotASize(text, "too large");
  const bool point = absl::ConsumePrefix(&rest, ".");
  if (point && (!TakeDigits(&rest, &fraction, &fraction_digits) || fraction_digits > kMostFractionDigits)) {
    return NotASize(text, "too many digits after the point");
  }
  if (whole_digits == 0 || (point && fraction_digits == 0)) return NotASize(text, "no number");
  rest = absl::StripLeadingAsciiWhitespace(rest);
  for (const Unit& unit : kUnits) {
    if (absl::EqualsIgnoreCase(rest, unit.name) || (rest.empty() && unit.bytes == 1)) unit_bytes = unit.bytes;
  }
  if (unit_bytes == 0) {
    const bool letters = absl::c_all_of(rest, absl::ascii_isalpha);
    return NotASize(text, letters ? "no such unit" : "not a plain number and a unit");  // 1e9GiB, 1,5GiB.
  }
  if (point && unit_bytes == 1) return NotASize(text, "part of a byte");
  for (int i = 0; i < fraction_digits; ++i) scale *= 10;
  // Below 2^63 * 2^30 + 2^60: no overflow in 128 bits, and exact.
  __extension__ using Int128 = __int128;
  const Int128 bytes = Int128{whole} * unit_bytes + Int128{fraction} * unit_bytes / scale;
  if (bytes > INT64_MAX) return NotASize(text, "too large");
  return static_cast<int64_t>(bytes);
}

std::string FormatByteSize(int64_t bytes) {
  constexpr absl::string_view kNames[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  if (std::abs(value) < 1024) return absl::StrCat(bytes, " B");
  int unit = -1;
  // 1023.95 would be shown as 1024 of the smaller unit.
  while (std::abs(value) >= (unit < 0 ? 1024 : 1023.5) && unit < 5) value /= 1024, ++unit;
  const double size = std::abs(value);
  return absl::StrFormat("%.*f %s", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, value, kNames[unit]);
}

std::string FormatKnownByteSize(std::optional<int64_t> bytes) { return bytes.has_value() ? FormatByteSize(*bytes) : "not known"; }

}  // namespace tessera
