// Methods of lists and dicts, and the search for a value's methods.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<Value>;

Result Index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("index", arguments, {"value"}, 1));
  RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(self.weight())));
  const std::vector<Value>& elements = self.items().elements;
  const auto found = std::find_if(elements.begin(), elements.end(), [&](const Value& each) { return Equal(each, *given[0]); });
  if (found == elements.end()) return Fail("index: found no such element");
  return Value::Int(found - elements.begin());
}

Result Count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("count", arguments, {"value"}, 1));
  RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(self.weight())));
  const std::vector<Value>& elements = self.items().elements;
  return Value::Int(std::count_if(elements.begin(), elements.end(), [&](const Value& each) { return Equal(each, *given[0]); }));
}

Result Copy(Runtime&, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("copy", arguments, {}).status());
  return self;
}

Result Get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(runtime.Step());
  if (!arguments.named.empty()) return Fail("get: found an argument with a name, expected none");
  ASSIGN_OR_RETURN(const auto given, Bind("get", arguments, {"key", "default"}, 1));
  RETURN_IF_ERROR(CheckHashable(*given[0]));
  const Value* const found = self.mapping().Find(*given[0]);
  return found != nullptr ? *found : given[1].value_or(Value::None());
}

enum class View { kItems, kKeys, kValues };

template <View view>
Result ViewOf(Runtime& runtime, const Value& self, const Arguments& arguments) {
  constexpr absl::string_view kName = view == View::kItems ? "dict_items" : view == View::kKeys ? "dict_keys" : "dict_values";
  RETURN_IF_ERROR(Bind(kName, arguments, {}).status());
  Items items{Items::Form::kView, {}, std::string(kName)};
  for (const auto& [key, value] : self.mapping().entries()) {
    items.elements.push_back(view == View::kItems  ? Value::Of(Items{Items::Form::kTuple, {key, value}})
                             : view == View::kKeys ? key
                                                   : value);
  }
  return runtime.New(std::move(items));
}

constexpr NamedFilter kListMethods[] = {{"copy", Copy}, {"count", Count}, {"index", Index}};
constexpr NamedFilter kDictMethods[] = {
    {"copy", Copy}, {"get", Get}, {"items", ViewOf<View::kItems>}, {"keys", ViewOf<View::kKeys>}, {"values", ViewOf<View::kValues>}};

// Methods of Python that are refused: the methods are defined, but a call is an error.
constexpr absl::string_view kRefusedOfText[] = {
    "casefold", "encode", "expandtabs", "format_map", "isascii", "isidentifier", "isprintable", "istitle", "ljust", "maketrans", "rjust",
    "swapcase", "title", "translate", "zfill"};
constexpr absl::string_view kRefusedOfDicts[] = {"fromkeys"};
constexpr absl::string_view kRefusedOfRanges[] = {"start", "step", "stop"};
constexpr absl::string_view kRefusedOfViews[] = {"isdisjoint", "mapping"};
// Methods that change a dict. Undefined for dicts with any keys.
constexpr absl::string_view kForbiddenOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr absl::string_view kRefusedOfNumbers[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "fromhex", "hex", "imag", "is_integer",
    "numerator", "real", "to_bytes"};

Result Refused(Runtime&, const Value& self, const Arguments&) {
  return Fail("found a method of ", TypeName(self), " to call which is not supported");
}

bool IsIn(absl::Span<const absl::string_view> names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Span<const absl::string_view> RefusedOf(const Value& self) {
  if (self.is_text()) return kRefusedOfText;
  if (self.is_number()) return kRefusedOfNumbers;
  if (self.kind() == Value::Kind::kMapping) return kRefusedOfDicts;
  if (self.kind() != Value::Kind::kItems) return {};
  if (self.items().form == Items::Form::kRange) return kRefusedOfRanges;
  return self.items().form == Items::Form::kView ? absl::MakeConstSpan(kRefusedOfViews) : absl::Span<const absl::string_view>();
}

absl::Span<const NamedFilter> MethodsOf(const Value& self) {
  if (self.is_text()) return TextMethods();
  if (self.kind() == Value::Kind::kMapping) return kDictMethods;
  if (self.kind() != Value::Kind::kItems || self.items().form == Items::Form::kView) return {};
  // The methods of tuples and ranges have no copy.
  return self.items().form == Items::Form::kList ? absl::MakeConstSpan(kListMethods) : absl::MakeConstSpan(kListMethods).subspan(1);
}

}  // namespace

std::optional<Value> FindMethod(const Value& self, absl::string_view name) {
  const auto made = [&](FilterFunction function) { return Value::Of(std::make_shared<Function>(name, function, self)); };
  for (const NamedFilter& method : MethodsOf(self)) {
    if (method.name == name) return made(method.function);
  }
  if (self.kind() == Value::Kind::kMapping && IsIn(kForbiddenOfDicts, name)) {
    return Value::Undefined(absl::StrCat("the method ", name, ", which would change a dict,"));
  }
  return IsIn(RefusedOf(self), name) ? std::optional<Value>(made(Refused)) : std::nullopt;
}

}  // namespace tessera::jinja
