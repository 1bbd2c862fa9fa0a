// The filters, tests, functions and methods that templates may call, by name.
//
//   if (const FilterFunction filter = FindFilter("trim")) ...
//   ASSIGN_OR_RETURN(const Value trimmed, filter(runtime, value, arguments));
//
// A new function is a new line in the table of its file: filters_of_*.cc, tests.cc, methods_of_*.cc, functions.cc. Thread-safe (pure
// functions).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

class Runtime;

struct Arguments {
  std::vector<Value> positional = {};
  std::vector<std::pair<Text, Value>> named = {};  // A name may come from the data, by **, and keeps its origin.
};

using FilterFunction = absl::StatusOr<Value> (*)(Runtime& runtime, const Value& input, const Arguments& arguments);
using TestFunction = absl::StatusOr<bool> (*)(Runtime& runtime, const Value& input, const Arguments& arguments);

FilterFunction FindFilter(absl::string_view name);  // Null: no such filter.
TestFunction FindTest(absl::string_view name);
FilterFunction FindFunction(absl::string_view name);  // A function that every template may call, with an undefined input.

// Returns a method of the kind of `self`. nullopt: the kind has no method of this name. Methods that change lists or dicts are undefined,
// since transformers forbids such changes.
std::optional<Value> FindMethod(const Value& self, absl::string_view name);

// Returns the arguments in the order of `names`; undefined arguments are absent. The error for too many, too few or unknown arguments names
// `what`.
absl::StatusOr<std::vector<std::optional<Value>>> Bind(absl::string_view what, const Arguments& arguments,
                                                       absl::Span<const absl::string_view> names, size_t required = 0);

struct NamedFilter {
  absl::string_view name;
  FilterFunction function;
};
absl::Span<const NamedFilter> TextFilters();
absl::Span<const NamedFilter> ListFilters();
absl::Span<const NamedFilter> NumberFilters();
absl::Span<const NamedFilter> TextMethods();

}  // namespace tessera::jinja
