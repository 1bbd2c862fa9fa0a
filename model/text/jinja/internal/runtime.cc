#include "tessera/model/text/jinja/internal/runtime.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {
namespace {

constexpr int kMaxCalls = 64;         // Macros that call macros.
constexpr int kMaxNesting = 1500;     // Bounds all nested evaluations, and so the stack; holds 64 macros of usual size.
constexpr int kMaxValueDepth = 128;   // Nested lists and dicts.
constexpr int64_t kStepsPerClock = 4096;

absl::Status Limit(absl::string_view what, int64_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat("found a template that takes more than ", most, " ", what, ", expected at most so many"));
}

const Clock& ClockOf(const RenderOptions& options) { return options.clock != nullptr ? *options.clock : RealClock(); }

// Returns the element at a list's place, or undefined beyond the ends.
Value At(const std::vector<Value>& elements, int64_t index) {
  const int64_t size = static_cast<int64_t>(elements.size());
  if (index < 0) index += size;
  return index >= 0 && index < size ? elements[static_cast<size_t>(index)] : Value::Undefined("the element");
}

}  // namespace

Runtime::Runtime(const RenderOptions& options) : options_(options), work_(options.work != nullptr ? *options.work : own_work_) {
  if (!work_.deadline_nanos.has_value()) work_.deadline_nanos = ClockOf(options).NowNanos() + options.max_nanos;
}

Runtime::~Runtime() {
  for (const std::shared_ptr<Object>& object : objects_) object->Clear();
}

absl::Status Runtime::Step(size_t count) {
  if (count > static_cast<size_t>(options_.max_steps - work_.steps)) return Limit("steps", options_.max_steps);
  work_.steps += static_cast<int64_t>(count);
  if (work_.steps < until_clock_) return absl::OkStatus();
  until_clock_ = work_.steps + kStepsPerClock;
  return ClockOf(options_).NowNanos() > *work_.deadline_nanos ? Limit("nanoseconds", options_.max_nanos) : absl::OkStatus();
}

absl::Status Runtime::Bytes(size_t count) {
  if (count > static_cast<size_t>(options_.max_text_bytes - bytes_)) return Limit("bytes of texts and lists", options_.max_text_bytes);
  bytes_ += static_cast<int64_t>(count);
  return Step(count / 256);
}

absl::Status Runtime::Charge(const Mapping& mapping) {
  RETURN_IF_ERROR(Step(mapping.size()));
  return Bytes(mapping.size() * kEntryBytes);
}

absl::Status Runtime::Level::Check() const {
  if (runtime_.calls_ > kMaxCalls) return Limit("calls in each other", kMaxCalls);
  return runtime_.nesting_ > kMaxNesting ? Limit("levels of evaluation", kMaxNesting) : absl::OkStatus();
}

absl::StatusOr<Value> Runtime::New(Text text) {
  RETURN_IF_ERROR(Charge(text));
  return Value::Of(std::move(text));
}

absl::StatusOr<Value> Runtime::Bounded(Value made) const {
  if (made.depth() > kMaxValueDepth) return Limit("lists in each other", kMaxValueDepth);
  if (made.weight() > options_.max_steps) return Limit("values in one list", options_.max_steps);
  return made;
}

absl::StatusOr<Value> Runtime::New(Items items) {
  RETURN_IF_ERROR(Step(items.elements.size()));
  RETURN_IF_ERROR(Bytes(items.elements.size() * kElementBytes));
  return Bounded(Value::Of(std::move(items)));
}

absl::StatusOr<Value> Runtime::New(Mapping mapping) {
  RETURN_IF_ERROR(Charge(mapping));
  return Bounded(Value::Of(std::move(mapping)));
}

absl::StatusOr<Value> Runtime::Own(std::shared_ptr<Object> object) {
  RETURN_IF_ERROR(Bytes(kObjectBytes));
  objects_.push_back(object);
  return Value::Of(std::move(object));
}

absl::StatusOr<std::vector<Value>> Runtime::Elements(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined: return std::vector<Value>();
    case Value::Kind::kItems:
      RETURN_IF_ERROR(Step(value.items().elements.size()));
      RETURN_IF_ERROR(Bytes(value.items().elements.size() * kElementBytes));
      return value.items().elements;
    case Value::Kind::kMapping: {
      RETURN_IF_ERROR(Step(value.mapping().size()));
      RETURN_IF_ERROR(Bytes(value.mapping().size() * kElementBytes));
      std::vector<Value> keys;
      for (const auto& [key, element] : value.mapping().entries()) keys.push_back(key);
      return keys;
    }
    case Value::Kind::kText: {
      const Text& text = value.text();
      RETURN_IF_ERROR(Step(text.size()));
      const int64_t count = CountCharacters(text.bytes());
      RETURN_IF_ERROR(Bytes(static_cast<size_t>(count) * (kTextBytes + kElementBytes)));
      std::vector<Value> characters;
      for (size_t at = 0, size; at < text.size(); at += size) {
        size = CharacterAt(text.bytes(), at).size;
        characters.push_back(Value::Of(text.Part(at, at + size)));
      }
      return characters;
    }
    case Value::Kind::kObject:
      RETURN_IF_ERROR(value.object().Fill(*this));
      if (value.object().elements() != nullptr) return std::exchange(*value.object().elements(), {});
      [[fallthrough]];
    default: return Fail("found ", TypeName(value), " to go through, expected a list, a dict or text");
  }
}

absl::StatusOr<Value> Runtime::Character(const Text& text, int64_t index) {
  const size_t steps = index < 0 ? 0 - static_cast<size_t>(index) : static_cast<size_t>(index);
  RETURN_IF_ERROR(Scan(std::min(steps, text.size())));
  const size_t at = index < 0 ? OffsetFromEnd(text.bytes(), -std::max(index, -INT64_MAX)) : OffsetOf(text.bytes(), index);
  if (at >= text.size()) return Value::Undefined("the element");
  return New(text.Part(at, at + CharacterAt(text.bytes(), at).size));
}

absl::StatusOr<int64_t> Runtime::Length(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined: return 0;
    case Value::Kind::kText: RETURN_IF_ERROR(Scan(value.text().size())); return CountCharacters(value.text().bytes());
    case Value::Kind::kItems: return static_cast<int64_t>(value.items().elements.size());
    case Value::Kind::kMapping: return static_cast<int64_t>(value.mapping().size());
    default: return Fail("found ", TypeName(value), ", which has no length");
  }
}

absl::StatusOr<Value> Runtime::Attribute(const Value& of, absl::string_view name) {
  RETURN_IF_ERROR(Step());
  if (of.is_undefined()) return Fail(of.undefined_what(), " is undefined, expected something with ", Quoted(name));
  if (absl::StartsWith(name, "__")) return Value::Undefined(absl::StrCat("the hidden attribute ", Quoted(name)));
  if (of.kind() == Value::Kind::kObject) {
    ASSIGN_OR_RETURN(std::optional<Value> member, of.object().Member(*this, name));
    if (member) return *std::move(member);
  } else if (std::optional<Value> method = FindMethod(of, name); method.has_value()) {
    return Bounded(*std::move(method));  // A method refers to its value alone, so no cycle can arise.
  }
  if (of.kind() == Value::Kind::kMapping) {
    if (const Value* const found = of.mapping().Find(name); found != nullptr) return *found;
  }
  return Value::Undefined(absl::StrCat(Quoted(name), " of ", TypeName(of)));
}

absl::StatusOr<Value> Runtime::Element(const Value& of, const Value& subscript) {
  RETURN_IF_ERROR(Step());
  if (of.is_undefined()) return Fail(of.undefined_what(), " is undefined, expected something to look into");
  RETURN_IF_ERROR(Step(static_cast<size_t>(subscript.weight())));
  if (of.kind() == Value::Kind::kMapping && CheckHashable(subscript).ok()) {
    if (const Value* const found = of.mapping().Find(subscript); found != nullptr) return *found;
  }
  if (subscript.is_integral() && of.kind() == Value::Kind::kItems && of.items().form != Items::Form::kView) {
    return At(of.items().elements, subscript.integer());
  }
  if (subscript.is_integral() && of.is_text()) {
    return Character(of.text(), subscript.integer());
  }
  if (!subscript.is_text()) return Value::Undefined(absl::StrCat("an element of ", TypeName(of)));
  // A name that is no key may still be an attribute. A name that is a key of the dict was found above.
  return Attribute(of, subscript.text().bytes());
}

absl::StatusOr<Value> Runtime::Path(const Value& of, const Value& dotted) {
  if (!dotted.is_text()) return Element(of, dotted);
  Value value = of;
  const std::string& path = dotted.text().bytes();
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number && part.size() > 18) return Fail("found the place ", part, " in a list, which is beyond 64 bits");
    ASSIGN_OR_RETURN(value, Element(value, number ? Value::Int(std::stoll(part)) : Value::Of(Text(part, false))));
    begin = end + 1;
  }
  return value;
}

absl::StatusOr<Value> Runtime::Call(const Value& callee, Arguments arguments) {
  if (callee.is_undefined()) return Fail(callee.undefined_what(), " is undefined, expected something to call");
  if (callee.kind() != Value::Kind::kObject || !callee.object().callable()) {
    return Fail("found ", TypeName(callee), " to call, expected a macro or a function");
  }
  return callee.object().Call(*this, std::move(arguments));
}

absl::StatusOr<std::optional<Value>> Object::Member(Runtime&, absl::string_view) { return std::optional<Value>(); }

absl::StatusOr<Value> Object::Call(Runtime&, Arguments) { return Fail("found a ", type(), " to call, expected a macro or a function"); }

std::string TypeName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined: return "an undefined value";
    case Value::Kind::kNone: return "none";
    case Value::Kind::kBool: return "a boolean";
    case Value::Kind::kInt: return "an integer";
    case Value::Kind::kFloat: return "a float";
    case Value::Kind::kText: return "text";
    case Value::Kind::kItems: return value.items().form == Items::Form::kTuple ? "a tuple" : "a list";
    case Value::Kind::kMapping: return "a dict";
    case Value::Kind::kObject: return absl::StrCat("a ", value.object().type());
  }
  return "";
}

absl::StatusOr<std::vector<std::optional<Value>>> Bind(absl::string_view what, const Arguments& arguments,
                                                       absl::Span<const absl::string_view> names, size_t required) {
  std::vector<std::optional<Value>> bound(names.size());
  if (arguments.positional.size() > names.size()) {
    return Fail(what, ": found ", arguments.positional.size(), " arguments, expected at most ", names.size());
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), bound.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), absl::string_view(name.bytes()));
    if (found == names.end()) return Fail(what, ": found the argument ", Quoted(name.bytes()), ", expected one that it has");
    std::optional<Value>& place = bound[static_cast<size_t>(found - names.begin())];
    if (place.has_value()) return Fail(what, ": found the argument ", Quoted(name.bytes()), " twice");
    place = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound[i].has_value()) return Fail(what, ": found no argument ", names[i], ", expected it");
  }
  return bound;
}

}  // namespace tessera::jinja
