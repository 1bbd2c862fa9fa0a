// The filters, tests, functions and methods that templates may call, by name.
//
//   if (const FilterFunction filter = FindFilter("trim")) ...
//   ASSIGN_OR_RETURN(const Value trimmed, filter(runtime, value, arguments));
//
// A new one is a line in the table of its file: filters_of_*.cc, tests.cc, methods_of_*.cc, functions.cc. Thread-safe (pure functions).
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
  std::vector<std::pair<Text, Value>> named = {};  // A name may come from the data, by **: it keeps where it came from.
};

using FilterFunction = absl::StatusOr<Value> (*)(Runtime& runtime, const Value& input, const Arguments& arguments);
using TestFunction = absl::StatusOr<bool> (*)(Runtime& runtime, const Value& input, const Arguments& arguments);

FilterFunction FindFilter(absl::string_view name);  // Null: there is none.
TestFunction FindTest(absl::string_view name);
FilterFunction FindFunction(absl::string_view name);  // One that every template may call; its input is undefined.

// A method of the kind of `self`. Without value: the kind has none of this name. Changing lists or dicts is forbidden, as transformers
// forbids it: such a method is undefined.
std::optional<Value> FindMethod(const Value& self, absl::string_view name);

// The arguments in the order of `names`; undefined ones are absent. An error names `what` if there are too many, too few or unknown ones.
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
