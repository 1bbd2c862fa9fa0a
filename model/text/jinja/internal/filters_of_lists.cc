// Filters of lists and of other iterable values.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/generator.h"
#include "tessera/model/text/jinja/internal/letter_case.h"
#include "tessera/model/text/jinja/internal/operators.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<Value>;
using Elements = absl::StatusOr<std::vector<Value>>;

Result Default(Runtime&, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("default", arguments, {"default_value", "boolean"}));
  const bool missing = input.is_undefined() || (Truth(given[1].value_or(Value())) && !Truth(input));
  return missing ? given[0].value_or(Value::Of(Text())) : input;
}

Result Length(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("length", arguments, {}).status());
  ASSIGN_OR_RETURN(const int64_t length, runtime.Length(input));
  return Value::Int(length);
}

bool IsList(const Value& value) { return value.kind() == Value::Kind::kItems && value.items().form != Items::Form::kView; }

Result EndOf(Runtime& runtime, const Value& input, int64_t place, absl::string_view what) {
  ASSIGN_OR_RETURN(Value end, runtime.Element(input, Value::Int(place)));
  return end.is_undefined() ? Value::Undefined(what) : std::move(end);
}

Result First(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("first", arguments, {}).status());
  if (input.is_text() || IsList(input)) return EndOf(runtime, input, 0, "the first element");
  ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime.Elements(input));
  return elements.empty() ? Value::Undefined("the first element") : elements.front();
}

Result Last(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("last", arguments, {}).status());
  if (input.kind() == Value::Kind::kObject || input.is_undefined()) return Fail("last: found ", TypeName(input), ", expected a list");
  if (input.is_text() || IsList(input)) return EndOf(runtime, input, -1, "the last element");
  ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime.Elements(input));
  return elements.empty() ? Value::Undefined("the last element") : elements.back();
}

Result List(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("list", arguments, {}).status());
  ASSIGN_OR_RETURN(std::vector<Value> elements, runtime.Elements(input));
  return runtime.List(std::move(elements));
}

Result Reverse(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("reverse", arguments, {}).status());
  if (input.is_text()) return Slice(runtime, input, Value::None(), Value::None(), Value::Int(-1));
  ASSIGN_OR_RETURN(std::vector<Value> elements, runtime.Elements(input));
  std::reverse(elements.begin(), elements.end());
  return runtime.Own(std::make_shared<Generator>([elements](Runtime&) -> Elements { return elements; }));
}

// Returns the attribute of each element, if an attribute is given; undefined attributes become `otherwise`, unless `otherwise` is none.
Elements AttributeOfEach(Runtime& runtime, const Value& input, const Value& attribute, const Value& otherwise) {
  ASSIGN_OR_RETURN(std::vector<Value> elements, runtime.Elements(input));
  if (attribute.is_none()) return elements;
  for (Value& element : elements) {
    ASSIGN_OR_RETURN(element, runtime.Path(element, attribute));
    if (element.is_undefined() && !otherwise.is_none()) element = otherwise;
  }
  return elements;
}

Result Join(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("join", arguments, {"d", "attribute"}));
  ASSIGN_OR_RETURN(const std::vector<Value> elements,
                   AttributeOfEach(runtime, input, given[1].value_or(Value::None()), Value::None()));
  ASSIGN_OR_RETURN(const Text between, runtime.Print(given[0].value_or(Value::Of(Text()))));
  Text out;
  for (size_t i = 0; i < elements.size(); ++i) {
    ASSIGN_OR_RETURN(const Text text, runtime.Print(elements[i]));
    RETURN_IF_ERROR(runtime.Bytes(between.held_bytes() + text.held_bytes()));
    if (i > 0) out.Append(between);
    out.Append(text);
  }
  return Value::Of(std::move(out));
}

// --- Sorting and its kin compare keys: an attribute, in lower case unless the case matters.
Result Folded(Runtime& runtime, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_text()) return value;
  ASSIGN_OR_RETURN(Text lower, Cased(runtime, value.text(), LetterCase::kLower));
  return runtime.New(std::move(lower));
}

using Keyed = std::pair<Value, Value>;  // A key and its element.

absl::StatusOr<std::vector<Keyed>> WithKeys(Runtime& runtime, const Value& input, const Value& attribute, bool case_sensitive) {
  ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime.Elements(input));
  std::vector<Keyed> keyed;
  for (const Value& element : elements) {
    Value key = element;
    if (!attribute.is_none()) {
      ASSIGN_OR_RETURN(key, runtime.Path(element, attribute));
    }
    RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(key.weight())));
    ASSIGN_OR_RETURN(key, Folded(runtime, key, case_sensitive));
    keyed.emplace_back(std::move(key), element);
  }
  return keyed;
}

absl::Status SortByKey(Runtime& runtime, std::vector<Keyed>& keyed, bool reverse) {
  int64_t work = 0;
  for (const Keyed& each : keyed) work += each.first.weight();
  RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(work) * 16));
  absl::Status status;
  const auto less = [&](const Keyed& left, const Keyed& right) {
    const absl::StatusOr<bool> is_less = reverse ? Less(right.first, left.first) : Less(left.first, right.first);
    if (!is_less.ok()) status = is_less.status();
    return is_less.ok() && *is_less;
  };
  std::stable_sort(keyed.begin(), keyed.end(), less);
  return status;
}

Result ElementsOf(Runtime& runtime, const std::vector<Keyed>& keyed) {
  std::vector<Value> elements;
  for (const Keyed& each : keyed) elements.push_back(each.second);
  return runtime.List(std::move(elements));
}

Result Sort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  const Value attribute = given[2].value_or(Value::None());
  if (attribute.is_text() && attribute.text().bytes().find(',') != std::string::npos) {
    return Fail("sort: found several attributes, which are not supported");
  }
  ASSIGN_OR_RETURN(auto keyed, WithKeys(runtime, input, attribute, Truth(given[1].value_or(Value()))));
  RETURN_IF_ERROR(SortByKey(runtime, keyed, Truth(given[0].value_or(Value()))));
  return ElementsOf(runtime, keyed);
}

Result DictSort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  if (input.kind() != Value::Kind::kMapping) return Fail("dictsort: found ", TypeName(input), ", expected a dict");
  const Value by = given[1].value_or(Value::Of(Text("key", false)));
  const bool by_key = by.is_text() && by.text().bytes() == "key", by_value = by.is_text() && by.text().bytes() == "value";
  if (!by_key && !by_value) return Fail("dictsort: found another order than by key or value");
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : input.mapping().entries()) {
    RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(key.weight())));
    ASSIGN_OR_RETURN(Value folded, Folded(runtime, by_key ? key : value, Truth(given[0].value_or(Value()))));
    keyed.emplace_back(std::move(folded), Value::Of(Items{Items::Form::kTuple, {key, value}}));
  }
  RETURN_IF_ERROR(SortByKey(runtime, keyed, Truth(given[2].value_or(Value()))));
  return ElementsOf(runtime, keyed);
}

Result Unique(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("unique", arguments, {"case_sensitive", "attribute"}));
  const bool case_sensitive = Truth(given[0].value_or(Value()));
  const Value attribute = given[1].value_or(Value::None());
  return runtime.Own(std::make_shared<Generator>([=](Runtime& inner) -> Elements {
    ASSIGN_OR_RETURN(const auto keyed, WithKeys(inner, input, attribute, case_sensitive));
    Mapping seen;
    std::vector<Value> elements;
    for (const Keyed& each : keyed) {
      RETURN_IF_ERROR(CheckHashable(each.first));
      RETURN_IF_ERROR(inner.Step(static_cast<size_t>(each.first.weight())));
      if (seen.Find(each.first) != nullptr) continue;
      seen.Set(each.first, Value::None());
      elements.push_back(each.second);
    }
    return elements;
  }));
}

template <bool least>
Result Extreme(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind(least ? "min" : "max", arguments, {"case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const auto keyed,
                   WithKeys(runtime, input, given[1].value_or(Value::None()), Truth(given[0].value_or(Value()))));
  if (keyed.empty()) return Value::Undefined("the element of an empty list");
  const Keyed* best = &keyed[0];
  for (const Keyed& each : keyed) {
    RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(each.first.weight())));
    if (&each == best) continue;
    ASSIGN_OR_RETURN(const bool better, least ? Less(each.first, best->first) : Less(best->first, each.first));
    if (better) best = &each;
  }
  return best->second;
}

Result Sum(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("sum", arguments, {"attribute", "start"}));
  ASSIGN_OR_RETURN(const std::vector<Value> elements,
                   AttributeOfEach(runtime, input, given[0].value_or(Value::None()), Value::None()));
  Value sum = given[1].value_or(Value::Int(0));
  if (sum.is_text()) return Fail("sum: found text as start, expected a number or a list");
  for (const Value& element : elements) {
    ASSIGN_OR_RETURN(sum, Arithmetic(runtime, "+", sum, element));
  }
  return sum;
}

// --- Filters that call filters and tests by name.
absl::StatusOr<std::string> NameIn(absl::string_view what, Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.positional[0].is_text()) return Fail(what, ": found no name, expected one as text");
  std::string name = arguments.positional[0].text().bytes();
  arguments.positional.erase(arguments.positional.begin());
  return name;
}

Elements MapAll(Runtime& runtime, const Value& input, Arguments arguments) {
  if (!Truth(input)) return std::vector<Value>();
  const bool attribute = arguments.positional.empty() && !arguments.named.empty();
  if (attribute) {
    ASSIGN_OR_RETURN(const auto given, Bind("map", arguments, {"attribute", "default"}, 1));
    return AttributeOfEach(runtime, input, *given[0], given[1].value_or(Value::None()));
  }
  ASSIGN_OR_RETURN(const std::string name, NameIn("map", arguments));
  const FilterFunction filter = FindFilter(name);
  if (filter == nullptr) return Fail("map: found the filter ", Quoted(name), ", expected one that chat templates use");
  ASSIGN_OR_RETURN(std::vector<Value> elements, runtime.Elements(input));
  for (Value& element : elements) {
    ASSIGN_OR_RETURN(element, filter(runtime, element, arguments));
  }
  return elements;
}

Result Map(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return runtime.Own(std::make_shared<Generator>([=](Runtime& inner) { return MapAll(inner, input, arguments); }));
}

Elements SelectAll(Runtime& runtime, const Value& input, Arguments arguments, bool wanted, bool by_attribute) {
  if (!Truth(input)) return std::vector<Value>();
  Value attribute = Value::None();
  if (by_attribute) {
    if (arguments.positional.empty()) return Fail("selectattr: found no attribute, expected its name");
    attribute = arguments.positional[0];
    arguments.positional.erase(arguments.positional.begin());
  }
  TestFunction test = nullptr;
  if (!arguments.positional.empty()) {
    ASSIGN_OR_RETURN(const std::string name, NameIn("select", arguments));
    test = FindTest(name);
    if (test == nullptr) return Fail("select: found the test ", Quoted(name), ", expected one that chat templates use");
  }
  ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime.Elements(input));
  std::vector<Value> chosen;
  for (const Value& element : elements) {
    Value judged = element;
    if (by_attribute) {
      ASSIGN_OR_RETURN(judged, runtime.Path(element, attribute));
    }
    RETURN_IF_ERROR(runtime.Step());
    bool passed = Truth(judged);
    if (test != nullptr) {
      ASSIGN_OR_RETURN(passed, test(runtime, judged, arguments));
    }
    if (passed == wanted) chosen.push_back(element);
  }
  return chosen;
}

template <bool wanted, bool by_attribute>
Result Select(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return runtime.Own(
      std::make_shared<Generator>([=](Runtime& inner) { return SelectAll(inner, input, arguments, wanted, by_attribute); }));
}

Result ItemsOf(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("items", arguments, {}).status());
  return runtime.Own(std::make_shared<Generator>([=](Runtime& inner) -> Elements {
    if (input.is_undefined()) return std::vector<Value>();
    if (input.kind() != Value::Kind::kMapping) return Fail("items: found ", TypeName(input), ", expected a dict");
    RETURN_IF_ERROR(inner.Step(input.mapping().size()));
    std::vector<Value> pairs;
    for (const auto& [key, value] : input.mapping().entries()) pairs.push_back(Value::Of(Items{Items::Form::kTuple, {key, value}}));
    return pairs;
  }));
}

constexpr NamedFilter kFilters[] = {
    {"count", Length}, {"d", Default}, {"default", Default}, {"dictsort", DictSort}, {"first", First}, {"items", ItemsOf}, {"join", Join},
    {"last", Last}, {"length", Length}, {"list", List}, {"map", Map}, {"max", Extreme<false>}, {"min", Extreme<true>},
    {"reject", Select<false, false>}, {"rejectattr", Select<false, true>}, {"reverse", Reverse}, {"select", Select<true, false>},
    {"selectattr", Select<true, true>}, {"sort", Sort}, {"sum", Sum}, {"unique", Unique},
};

}  // namespace

absl::Span<const NamedFilter> ListFilters() { return kFilters; }

}  // namespace tessera::jinja
