#include "tessera/model/text/jinja/internal/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {
namespace {

constexpr size_t kMaxWidth = 1000;  // In one field.

// The form of one value: %-05.2f or {:<5.2f}.
struct Shape {
  bool left = false, zero = false, plus = false, blank = false;
  size_t width = 0;
  std::optional<size_t> precision = std::nullopt;
  char type = 's';
};

absl::StatusOr<size_t> ReadWidth(absl::string_view text, size_t& at) {
  size_t width = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    width = width * 10 + static_cast<size_t>(text[at] - '0');
    if (width > kMaxWidth) return Fail("found a format with a width above ", kMaxWidth);
  }
  return width;
}

// Returns the digits of a number, without padding.
absl::StatusOr<std::string> Number(const Value& value, const Shape& shape) {
  std::string digits;
  if (shape.type == 'd' || shape.type == 'x' || shape.type == 'X') {
    if (shape.precision) return Fail("found a format of an integer with a precision, which is not supported");
    if (value.kind() == Value::Kind::kFloat && shape.type != 'd') return Fail("found a float for %", std::string(1, shape.type));
    const bool fits = value.is_integral() || std::abs(value.number()) < 0x1p63;  // False for nan, too.
    if (!fits) return Fail("found a number beyond 64 bits to format");
    const int64_t integer = value.kind() == Value::Kind::kFloat ? static_cast<int64_t>(value.number()) : value.integer();
    const uint64_t magnitude = integer < 0 ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
    char text[32];
    std::snprintf(text, sizeof(text), shape.type == 'd' ? "%llu" : shape.type == 'x' ? "%llx" : "%llX",
                  static_cast<unsigned long long>(magnitude));
    return absl::StrCat(integer < 0 ? "-" : shape.plus ? "+" : shape.blank ? " " : "", text);
  }
  char text[kMaxWidth + 330];  // Before the point a number has at most 309 digits.
  std::snprintf(text, sizeof(text), "%.*f", static_cast<int>(shape.precision.value_or(6)), value.number());
  return absl::StrCat(text[0] == '-' ? "" : shape.plus ? "+" : shape.blank ? " " : "", text);
}

Text Padded(Text text, const Shape& shape, bool number) {
  const size_t size = static_cast<size_t>(CountCharacters(text.bytes()));
  if (size >= shape.width) return text;
  const size_t missing = shape.width - size;
  Text padded;
  const size_t sign = number && !text.empty() && absl::StrContains("+- ", text.bytes().substr(0, 1)) ? 1 : 0;
  const bool zeros = shape.zero && number && !shape.left;
  if (zeros) padded.AppendPart(text, 0, sign);
  if (!shape.left) padded.Append(std::string(missing, zeros ? '0' : ' '), false);
  padded.AppendPart(text, zeros ? sign : 0, text.size());
  if (shape.left) padded.Append(std::string(missing, ' '), false);
  return padded;
}

absl::StatusOr<Text> Written(Runtime& runtime, const Value& value, const Shape& shape) {
  if (shape.type == 's' || shape.type == 'r') {
    ASSIGN_OR_RETURN(Text text, shape.type == 's' ? runtime.Print(value) : runtime.Represent(value));
    if (shape.precision) text = text.Part(0, OffsetOf(text.bytes(), static_cast<int64_t>(*shape.precision)));
    return Padded(std::move(text), shape, false);
  }
  if (value.is_undefined()) return Fail(value.undefined_what(), " is undefined, expected a number to format");
  if (!value.is_number()) return Fail("found ", TypeName(value), " to format, expected a number");
  ASSIGN_OR_RETURN(const std::string digits, Number(value, shape));
  return Padded(Text(digits, false), shape, true);
}

absl::Status AppendCounted(Runtime& runtime, const Text& text, Text& out) {
  RETURN_IF_ERROR(runtime.Step());
  RETURN_IF_ERROR(runtime.Bytes(text.held_bytes()));
  out.Append(text);
  return absl::OkStatus();
}

// Reads a conversion. `at` is behind the %; afterwards behind the conversion.
absl::StatusOr<Shape> PrintfShape(absl::string_view format, size_t& at) {
  Shape shape;
  for (; at < format.size() && absl::StrContains("-0+ ", format.substr(at, 1)); ++at) {
    const char flag = format[at];
    (flag == '-' ? shape.left : flag == '0' ? shape.zero : flag == '+' ? shape.plus : shape.blank) = true;
  }
  ASSIGN_OR_RETURN(shape.width, ReadWidth(format, at));
  if (at < format.size() && format[at] == '.') {
    ++at;
    ASSIGN_OR_RETURN(shape.precision, ReadWidth(format, at));
  }
  if (at >= format.size()) return Fail("found a format that ends within %");
  shape.type = format[at] == 'i' ? 'd' : format[at];
  ++at;
  if (!absl::StrContains("srdxXf%", std::string(1, shape.type)))
    return Fail("found the format %", std::string(1, shape.type), ", which is not supported");
  return shape;
}

}  // namespace

absl::StatusOr<Value> Format(Runtime& runtime, const Text& format, const std::vector<Value>& values, const Value& single) {
  if (format.safe()) return Fail("found a format that is safe text, which is not supported");
  const std::string& bytes = format.bytes();
  const bool dict = single.kind() == Value::Kind::kMapping;
  Text out;
  size_t used = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t mark = std::min(bytes.find('%', at), bytes.size());
    RETURN_IF_ERROR(AppendCounted(runtime, format.Part(at, mark), out));
    at = mark + 1;
    if (mark == bytes.size()) break;
    Value named;
    bool is_named = false;
    if (dict && at < bytes.size() && bytes[at] == '(') {
      const size_t end = bytes.find(')', at);
      if (end == std::string::npos) return Fail("found a format without the ) of %(");
      const Value* const found = single.mapping().Find(bytes.substr(at + 1, end - at - 1));
      if (found == nullptr) return Fail("found no value for %", bytes.substr(at, end + 1 - at));
      named = *found;
      is_named = true;
      at = end + 1;
    }
    ASSIGN_OR_RETURN(const Shape shape, PrintfShape(bytes, at));
    if (shape.type == '%') {
      out.Append("%", format.FromData(mark));
      continue;
    }
    if (!is_named && used >= values.size()) return Fail("found ", values.size(), " values for a format that has more places");
    ASSIGN_OR_RETURN(const Text text, Written(runtime, is_named ? named : values[used++], shape));
    RETURN_IF_ERROR(AppendCounted(runtime, text, out));
  }
  const bool spare =
      single.kind() == Value::Kind::kMapping || (single.kind() == Value::Kind::kItems && single.items().form == Items::Form::kList);
  if (used < values.size() && !spare) return Fail("found ", values.size(), " values for a format that has ", used, " places");
  return runtime.New(std::move(out));
}

namespace {

// Reads one {field} after the other.
class Fields {
 public:
  Fields(Runtime& runtime, const Text& pattern, const Arguments& arguments)
      : runtime_(runtime), pattern_(pattern), arguments_(arguments) {}

  absl::StatusOr<Text> Run() {
    const std::string& bytes = pattern_.bytes();
    for (size_t at = 0; at < bytes.size();) {
      const size_t mark = std::min(bytes.find_first_of("{}", at), bytes.size());
      RETURN_IF_ERROR(AppendCounted(runtime_, pattern_.Part(at, mark), out_));
      if (mark == bytes.size()) break;
      if (bytes.substr(mark, 2) == "{{" || bytes.substr(mark, 2) == "}}") {
        out_.AppendPart(pattern_, mark, mark + 1);
        at = mark + 2;
        continue;
      }
      const size_t end = bytes.find_first_of("{}", mark + 1);
      if (bytes[mark] == '}' || end == std::string::npos) return Fail("found a single ", bytes.substr(mark, 1), " in a format");
      if (bytes[end] == '{') return Fail("found a format within a format, which is not supported");
      RETURN_IF_ERROR(Field(bytes.substr(mark + 1, end - mark - 1)));
      at = end + 1;
    }
    return std::move(out_);
  }

 private:
  absl::Status Field(const std::string& field) {
    const size_t colon = std::min(field.find(':'), field.size());
    std::string name = field.substr(0, colon);
    Shape shape;
    if (name.size() >= 2 && name[name.size() - 2] == '!') {
      if (name.back() != 's' && name.back() != 'r')
        return Fail("found the conversion !", name.substr(name.size() - 1), ", expected !s or !r");
      shape.type = name.back();
      name.resize(name.size() - 2);
    }
    ASSIGN_OR_RETURN(const Value value, ValueOf(name));
    RETURN_IF_ERROR(ReadShape(absl::string_view(field).substr(std::min(colon + 1, field.size())), value, shape));
    ASSIGN_OR_RETURN(const Text text, Written(runtime_, value, shape));
    return AppendCounted(runtime_, text, out_);
  }

  absl::StatusOr<Value> ValueOf(const std::string& name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string first = name.substr(0, end);
    Value value;
    const bool numbered = first.empty() || std::all_of(first.begin(), first.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (numbered) {
      if ((first.empty() ? counted_ : numbered_) == false && (first.empty() ? numbered_ : counted_))
        return Fail("found {} beside {0} in a format");
      (first.empty() ? counted_ : numbered_) = true;
      size_t place = next_;
      if (first.empty()) ++next_;
      else if (!absl::SimpleAtoi(first, &place)) return Fail("found the place ", first, " in a format");
      if (place >= arguments_.positional.size())
        return Fail("found ", arguments_.positional.size(), " values for a format that has more places");
      value = arguments_.positional[place];
    } else {
      RETURN_IF_ERROR(runtime_.Step(arguments_.named.size() / 4));
      const auto found =
          std::find_if(arguments_.named.begin(), arguments_.named.end(), [&](const auto& each) { return each.first.bytes() == first; });
      if (found == arguments_.named.end()) return Fail("found no value for {", first, "}");
      value = found->second;
    }
    if (end < name.size()) return Fail("found the field ", Quoted(name), " in a format; attributes are not supported there");
    return value;
  }

  static absl::Status ReadShape(absl::string_view text, const Value& value, Shape& shape) {
    if (text.empty()) return absl::OkStatus();
    size_t at = 0;
    const bool number = value.is_number() && value.kind() != Value::Kind::kBool && shape.type == 's';
    shape.left = !number;
    if (text[at] == '<' || text[at] == '>') shape.left = text[at++] == '<';
    if (at < text.size() && text[at] == '+') shape.plus = ++at > 0;
    if (at < text.size() && text[at] == '0') shape.zero = ++at > 0;
    ASSIGN_OR_RETURN(shape.width, ReadWidth(text, at));
    if (at < text.size() && text[at] == '.') {
      ++at;
      ASSIGN_OR_RETURN(shape.precision, ReadWidth(text, at));
    }
    const char type = at < text.size() ? text[at++] : value.kind() == Value::Kind::kInt ? 'd' : 's';
    const bool known = type == 'd' ? value.kind() == Value::Kind::kInt : type == 'f' ? number : type == 's' && value.is_text();
    if (at < text.size() || !known || (shape.zero && !number))
      return Fail("found the format ", Quoted(text), " for ", TypeName(value), ", which is not supported");
    if (shape.type != 'r') shape.type = type;
    return absl::OkStatus();
  }

  Runtime& runtime_;
  const Text& pattern_;
  const Arguments& arguments_;
  Text out_;
  size_t next_ = 0;
  bool counted_ = false, numbered_ = false;
};

}  // namespace

absl::StatusOr<Value> FormatFields(Runtime& runtime, const Text& pattern, const Arguments& arguments) {
  if (pattern.safe()) return Fail("found a format that is safe text, which is not supported");
  ASSIGN_OR_RETURN(Text text, Fields(runtime, pattern, arguments).Run());
  return runtime.New(std::move(text));
}

}  // namespace tessera::jinja
