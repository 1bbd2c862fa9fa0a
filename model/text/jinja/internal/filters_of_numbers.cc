// Filters of numbers.
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/operators.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<Value>;

Result Absolute(Runtime&, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("abs", arguments, {}).status());
  if (!input.is_number()) return Fail("abs: found ", TypeName(input), ", expected a number");
  if (input.kind() == Value::Kind::kFloat) return Value::Float(std::abs(input.number()));
  return Signed(input.integer() < 0 ? "-" : "+", input);
}

// Returns a number in the form that int() and float() of Python read: white space around the number, underscores between digits.
std::optional<std::string> PlainNumber(absl::string_view text) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](size_t at) { return at < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at])); };
    if (text[i] != '_') plain.push_back(text[i]);
    else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return plain;
}

std::optional<double> FloatOf(absl::string_view text) {
  const std::optional<std::string> plain = PlainNumber(text);
  if (!plain || plain->empty() || absl::StrContains(*plain, 'x') || absl::StrContains(*plain, 'X') || absl::StrContains(*plain, '('))
    return std::nullopt;
  double value = 0;
  if (!absl::SimpleAtod(*plain, &value)) return std::nullopt;
  return value;
}

// Returns nullopt if the text is no integer.
absl::StatusOr<std::optional<int64_t>> IntegerOf(absl::string_view text) {
  const std::optional<std::string> plain = PlainNumber(text);
  if (!plain) return std::optional<int64_t>();
  const size_t sign = !plain->empty() && ((*plain)[0] == '-' || (*plain)[0] == '+') ? 1 : 0;
  const absl::string_view digits = absl::string_view(*plain).substr(sign);
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos) return std::optional<int64_t>();
  int64_t value = 0;
  if (!absl::SimpleAtoi(*plain, &value)) return Fail("int: found the integer ", *plain, ", which is beyond 64 bits");
  return std::optional<int64_t>(value);
}

Result Truncated(double value, const Value& otherwise) {
  if (std::isnan(value) || std::isinf(value)) return otherwise;
  if (std::abs(value) >= 0x1p63) return Fail("int: found a number beyond 64 bits");
  return Value::Int(static_cast<int64_t>(value));
}

Result Int(Runtime&, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("int", arguments, {"default", "base"}));
  const Value otherwise = given[0].value_or(Value::Int(0)), base = given[1].value_or(Value::Int(10));
  if (!base.is_integral() || base.integer() != 10) return Fail("int: found another base than 10, which is not supported");
  if (input.is_undefined()) return Fail("int: ", input.undefined_what(), " is undefined, expected a number");
  if (input.is_integral()) return Value::Int(input.integer());
  if (input.kind() == Value::Kind::kFloat) {
    if (std::isinf(input.number())) return Fail("int: found an infinity");
    return Truncated(input.number(), otherwise);
  }
  if (!input.is_text()) return otherwise;
  ASSIGN_OR_RETURN(const std::optional<int64_t> integer, IntegerOf(input.text().bytes()));
  if (integer) return Value::Int(*integer);
  const std::optional<double> number = FloatOf(input.text().bytes());
  return number ? Truncated(*number, otherwise) : Result(otherwise);
}

Result Float(Runtime&, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("float", arguments, {"default"}));
  if (input.is_undefined()) return Fail("float: ", input.undefined_what(), " is undefined, expected a number");
  if (input.is_number()) return Value::Float(input.number());
  const std::optional<double> number = input.is_text() ? FloatOf(input.text().bytes()) : std::nullopt;
  return number ? Value::Float(*number) : given[0].value_or(Value::Float(0));
}

Result Round(Runtime&, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("round", arguments, {"precision", "method"}));
  const Value precision = given[0].value_or(Value::Int(0)), method = given[1].value_or(Value::Of(Text("common", false)));
  if (!input.is_number()) return Fail("round: found ", TypeName(input), ", expected a number");
  if (!precision.is_integral() || precision.integer() < 0 || precision.integer() > 15) {
    return Fail("round: found another precision than 0 to 15, which is not supported");
  }
  const std::string name = method.is_text() ? method.text().bytes() : "";
  if (name == "common") {
    if (input.is_integral()) return Value::Int(input.integer());
    if (std::isnan(input.number()) || std::isinf(input.number())) return Value::Float(input.number());
    char text[400];  // The nearest decimal, ties to even, like Python.
    const auto end =
        std::to_chars(text, text + sizeof(text), input.number(), std::chars_format::fixed, static_cast<int>(precision.integer()));
    double rounded = 0;
    std::from_chars(text, end.ptr, rounded);
    return Value::Float(rounded);
  }
  if (name != "ceil" && name != "floor") return Fail("round: found another method than common, ceil and floor");
  const double scale = static_cast<double>(std::llround(std::pow(10.0, static_cast<double>(precision.integer()))));
  const double scaled = input.number() * scale;
  if (std::abs(scaled) >= 0x1p63 || std::isnan(scaled)) return Fail("round: found a number beyond 64 bits");
  return Value::Float((name == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

constexpr NamedFilter kFilters[] = {{"abs", Absolute}, {"float", Float}, {"int", Int}, {"round", Round}};

}  // namespace

absl::Span<const NamedFilter> NumberFilters() { return kFilters; }

}  // namespace tessera::jinja
