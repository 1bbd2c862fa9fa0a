#include "tessera/model/text/jinja/internal/operators.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/format.h"

namespace tessera::jinja {
namespace {

absl::Status Overflow() { return Fail("found an integer beyond 64 bits, expected a smaller one"); }

absl::StatusOr<Value> PowerOfIntegers(int64_t base, int64_t exponent) {
  int64_t result = 1;
  const bool small = base >= -1 && base <= 1;  // Powers repeat: an even and an odd exponent cover all.
  for (int64_t left = small ? 2 - exponent % 2 : exponent; left > 0 && exponent > 0; --left) {
    if (__builtin_mul_overflow(result, base, &result)) return Overflow();
  }
  return Value::Int(result);
}

absl::StatusOr<Value> Integers(absl::string_view operation, int64_t left, int64_t right) {
  int64_t result = 0;
  if (operation == "+") return __builtin_add_overflow(left, right, &result) ? absl::StatusOr<Value>(Overflow()) : Value::Int(result);
  if (operation == "-") return __builtin_sub_overflow(left, right, &result) ? absl::StatusOr<Value>(Overflow()) : Value::Int(result);
  if (operation == "*") return __builtin_mul_overflow(left, right, &result) ? absl::StatusOr<Value>(Overflow()) : Value::Int(result);
  if (operation == "**") return PowerOfIntegers(left, right);
  if (right == 0) return Fail("found a division by zero");
  if (right == -1) return operation == "%" ? Value::Int(0) : Integers("-", 0, left);
  const int64_t quotient = left / right, rest = left % right;
  const bool down = rest != 0 && (rest < 0) != (right < 0);  // Python rounds down, C++ to zero.
  return Value::Int(operation == "%" ? rest + (down ? right : 0) : quotient - (down ? 1 : 0));
}

absl::StatusOr<Value> Floats(absl::string_view operation, double left, double right) {
  if (operation == "+") return Value::Float(left + right);
  if (operation == "-") return Value::Float(left - right);
  if (operation == "*") return Value::Float(left * right);
  if (operation == "**") {
    if (left < 0 && right != std::floor(right)) return Fail("found a power that is no real number");
    if (left == 0 && right < 0) return Fail("found a negative power of zero");
    const double power = elementary::Pow(left, right);
    if (std::isinf(power) && !std::isinf(left) && !std::isinf(right)) return Fail("found a power beyond 64 bits");
    return Value::Float(power);
  }
  if (right == 0) return Fail("found a division by zero");
  if (operation == "/") return Value::Float(left / right);
  double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0)) rest += right;
  if (rest == 0) rest = std::copysign(0.0, right);
  if (operation == "%") return Value::Float(rest);
  const double quotient = (left - rest) / right;
  const double whole = std::floor(quotient);
  return Value::Float(quotient == 0 ? std::copysign(0.0, left / right) : quotient - whole > 0.5 ? whole + 1 : whole);
}

absl::StatusOr<Value> Join(Runtime& runtime, const Text& left, const Text& right) {
  RETURN_IF_ERROR(runtime.Charge(left));
  RETURN_IF_ERROR(runtime.Charge(right));
  const bool safe = left.safe() || right.safe();
  Text joined = left;
  if (safe && !left.safe()) {
    ASSIGN_OR_RETURN(joined, EscapedHtml(runtime, left));
  }
  if (safe && !right.safe()) {
    ASSIGN_OR_RETURN(const Text escaped, EscapedHtml(runtime, right));
    joined.Append(escaped);
  } else {
    joined.Append(right);
  }
  joined.set_safe(safe);
  return Value::Of(std::move(joined));
}

absl::StatusOr<Value> Repeat(Runtime& runtime, const Value& of, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (of.is_text()) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(of.text().held_bytes(), static_cast<size_t>(times), &bytes)) return Overflow();
    RETURN_IF_ERROR(runtime.Bytes(bytes));
    if (bytes > 0) RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(times) / 4));
    Text text;
    for (int64_t i = 0; i < times && bytes > 0; ++i) text.Append(of.text());
    text.set_safe(of.text().safe());
    return Value::Of(std::move(text));
  }
  const std::vector<Value>& elements = of.items().elements;
  size_t count = 0;
  if (__builtin_mul_overflow(elements.size(), static_cast<size_t>(times), &count)) return Overflow();
  RETURN_IF_ERROR(runtime.Step(count));
  Items items{of.items().form};
  for (int64_t i = 0; i < times && count > 0; ++i) items.elements.insert(items.elements.end(), elements.begin(), elements.end());
  return runtime.New(std::move(items));
}

struct Bounds {
  int64_t begin, end, stride;
};

// Returns the bounds of a slice of `size` elements. A stride is no longer than `size`.
absl::StatusOr<Bounds> BoundsOf(const Value& first, const Value& last, const Value& step, int64_t size) {
  const auto given = [](const Value& bound) -> absl::StatusOr<std::optional<int64_t>> {
    if (bound.is_none()) return std::optional<int64_t>();
    if (!bound.is_integral()) return Fail("found ", TypeName(bound), " as a bound of a slice, expected an integer");
    return std::optional<int64_t>(bound.integer());
  };
  ASSIGN_OR_RETURN(const std::optional<int64_t> from, given(first));
  ASSIGN_OR_RETURN(const std::optional<int64_t> to, given(last));
  ASSIGN_OR_RETURN(const std::optional<int64_t> by, given(step));
  const int64_t stride = std::clamp(by.value_or(1), -size - 1, size + 1);
  if (stride == 0) return Fail("found a slice by steps of 0");
  const int64_t least = stride > 0 ? 0 : -1, most = stride > 0 ? size : size - 1;
  const auto place = [&](int64_t bound) { return std::clamp(bound < 0 ? bound + size : bound, least, most); };
  return Bounds{from ? place(*from) : stride > 0 ? least : most, to ? place(*to) : stride > 0 ? most : least, stride};
}

// Returns the characters of a slice with a stride other than 1.
absl::StatusOr<Value> Picked(Runtime& runtime, const Text& text, const Bounds& bounds) {
  RETURN_IF_ERROR(runtime.Step(text.size() / 4));
  RETURN_IF_ERROR(runtime.Bytes(text.size() * sizeof(size_t)));
  std::vector<size_t> offsets;
  for (size_t at = 0; at < text.size(); at += CharacterAt(text.bytes(), at).size) offsets.push_back(at);
  offsets.push_back(text.size());
  Text picked;
  for (int64_t at = bounds.begin; bounds.stride > 0 ? at < bounds.end : at > bounds.end; at += bounds.stride) {
    picked.AppendPart(text, offsets[static_cast<size_t>(at)], offsets[static_cast<size_t>(at) + 1]);
  }
  return runtime.New(std::move(picked));
}

bool IsSequence(const Value& value) {
  return value.is_text() || (value.kind() == Value::Kind::kItems && value.items().form <= Items::Form::kTuple);
}

}  // namespace

absl::StatusOr<Value> Arithmetic(Runtime& runtime, absl::string_view operation, const Value& left, const Value& right) {
  RETURN_IF_ERROR(runtime.Step());
  if (left.is_number() && right.is_number()) {
    const bool negative_power = operation == "**" && right.number() < 0;
    if (left.is_integral() && right.is_integral() && operation != "/" && !negative_power) {
      return Integers(operation, left.integer(), right.integer());
    }
    return Floats(operation, left.number(), right.number());
  }
  if (operation == "%" && left.is_text()) {
    const bool tuple = right.kind() == Value::Kind::kItems && right.items().form == Items::Form::kTuple;
    return Format(runtime, left.text(), tuple ? right.items().elements : std::vector<Value>{right}, tuple ? Value() : right);
  }
  if (operation == "*" && IsSequence(left) && right.is_integral()) return Repeat(runtime, left, right.integer());
  if (operation == "*" && IsSequence(right) && left.is_integral()) return Repeat(runtime, right, left.integer());
  if (operation == "+" && left.is_text() && right.is_text()) return Join(runtime, left.text(), right.text());
  if (operation == "+" && IsSequence(left) && IsSequence(right) && !left.is_text() && !right.is_text() &&
      left.items().form == right.items().form) {
    Items sum{left.items().form, left.items().elements};
    sum.elements.insert(sum.elements.end(), right.items().elements.begin(), right.items().elements.end());
    return runtime.New(std::move(sum));
  }
  if (left.is_undefined() || right.is_undefined()) {
    return Fail((left.is_undefined() ? left : right).undefined_what(), " is undefined, expected a value for ", operation);
  }
  return Fail("found ", TypeName(left), " ", operation, " ", TypeName(right), ", which is not possible");
}

absl::StatusOr<bool> Compare(Runtime& runtime, absl::string_view operation, const Value& left, const Value& right) {
  const bool look = operation == "in" || operation == "not in";
  // A dict is searched by key; texts and lists are searched through.
  const int64_t looked = right.kind() == Value::Kind::kMapping ? left.weight() : right.weight() + (right.is_text() ? left.weight() : 0);
  RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(look ? looked : std::min(left.weight(), right.weight()))));
  if (operation == "==") return Equal(left, right);
  if (operation == "!=") return !Equal(left, right);
  if (look) {
    Value container = right;
    if (right.kind() == Value::Kind::kObject && right.object().elements() != nullptr) {
      ASSIGN_OR_RETURN(std::vector<Value> elements, runtime.Elements(right));
      container = Value::List(std::move(elements));
    }
    ASSIGN_OR_RETURN(const bool found, Contains(container, left));
    return found == (operation == "in");
  }
  if (operation == "<") return Less(left, right);
  if (operation == ">") return Less(right, left);
  ASSIGN_OR_RETURN(const bool less, operation == "<=" ? Less(left, right) : Less(right, left));
  return less || Equal(left, right);
}

absl::StatusOr<Value> Signed(absl::string_view sign, const Value& value) {
  if (value.is_undefined()) return Fail(value.undefined_what(), " is undefined, expected a number");
  if (!value.is_number()) return Fail("found ", sign, TypeName(value), ", expected a number");
  if (value.is_integral()) return sign == "-" ? Integers("-", 0, value.integer()) : Value::Int(value.integer());
  return Value::Float(sign == "-" ? -value.number() : value.number());
}

absl::StatusOr<Value> Concatenate(Runtime& runtime, const std::vector<Value>& values) {
  Text joined;
  for (const Value& value : values) {
    ASSIGN_OR_RETURN(const Text text, runtime.Print(value));
    RETURN_IF_ERROR(runtime.Bytes(text.held_bytes()));
    joined.Append(text);
  }
  return Value::Of(std::move(joined));
}

absl::StatusOr<Value> Slice(Runtime& runtime, const Value& of, const Value& first, const Value& last, const Value& step) {
  if (of.is_undefined()) return Fail(of.undefined_what(), " is undefined, expected something to slice");
  const bool items = of.kind() == Value::Kind::kItems && of.items().form != Items::Form::kView;
  if (items && of.items().form == Items::Form::kRange) return Fail("found a range to slice, which is not supported");
  if (!items && !of.is_text()) return Fail("found ", TypeName(of), " to slice, expected a list or text");
  ASSIGN_OR_RETURN(const int64_t size, runtime.Length(of));
  RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(of.weight())));
  ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(first, last, step, size));
  if (of.is_text() && bounds.stride == 1) {
    const size_t begin = OffsetOf(of.text().bytes(), bounds.begin);
    const size_t end = begin + OffsetOf(absl::string_view(of.text().bytes()).substr(begin), bounds.end - bounds.begin);
    return runtime.New(of.text().Part(begin, end));
  }
  if (of.is_text()) return Picked(runtime, of.text(), bounds);
  const std::vector<Value>& elements = of.items().elements;
  Items part{of.items().form};
  for (int64_t at = bounds.begin; bounds.stride > 0 ? at < bounds.end : at > bounds.end; at += bounds.stride) {
    part.elements.push_back(elements[static_cast<size_t>(at)]);
  }
  return runtime.New(std::move(part));
}

absl::StatusOr<Text> EscapedHtml(Runtime& runtime, const Text& text) {
  RETURN_IF_ERROR(runtime.Bytes(text.held_bytes()));
  RETURN_IF_ERROR(runtime.Step(text.size() / 8));
  constexpr std::pair<char, absl::string_view> kEscapes[] = {
      {'&', "&amp;"}, {'>', "&gt;"}, {'<', "&lt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
  Text escaped;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto found =
        std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](const auto& each) { return each.first == text.bytes()[at]; });
    if (found == std::end(kEscapes)) {
      escaped.AppendPart(text, at, at + 1);
    } else {
      RETURN_IF_ERROR(runtime.Bytes(found->second.size()));
      escaped.Append(found->second, text.FromData(at));
    }
  }
  escaped.set_safe(true);
  return escaped;
}

}  // namespace tessera::jinja
