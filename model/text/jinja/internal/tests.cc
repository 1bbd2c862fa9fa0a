// Tests: the words behind `is`.
#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/letter_case.h"
#include "tessera/model/text/jinja/internal/operators.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<bool>;
using Kind = Value::Kind;

template <bool (*is)(const Value&)>
Result Simple(Runtime&, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a test", arguments, {}).status());
  return is(input);
}

bool Boolean(const Value& value) { return value.kind() == Kind::kBool; }
// An undefined value counts as callable, although a call of it is an error; so does `loop`.
bool Callable(const Value& value) {
  return value.is_undefined() || (value.kind() == Kind::kObject && (value.object().callable() || value.object().type() == "loop"));
}
bool Defined(const Value& value) { return !value.is_undefined(); }
bool Escaped(const Value& value) { return value.is_text() && value.text().safe(); }
bool False(const Value& value) { return Boolean(value) && !value.boolean(); }
bool Float(const Value& value) { return value.kind() == Kind::kFloat; }
bool Integer(const Value& value) { return value.kind() == Kind::kInt; }
bool Iterable(const Value& value) {
  return value.is_text() || value.is_undefined() || value.kind() == Kind::kItems || value.kind() == Kind::kMapping ||
         (value.kind() == Kind::kObject && value.object().elements() != nullptr);
}
bool IsMapping(const Value& value) { return value.kind() == Kind::kMapping; }
bool None(const Value& value) { return value.is_none(); }
bool Number(const Value& value) { return value.is_number(); }
bool Sequence(const Value& value) {
  if (value.kind() == Kind::kItems) return value.items().form != Items::Form::kView;
  return value.is_text() || value.is_undefined() || value.kind() == Kind::kMapping;
}
bool String(const Value& value) { return value.is_text(); }
bool True(const Value& value) { return Boolean(value) && value.boolean(); }
bool Undefined(const Value& value) { return value.is_undefined(); }

template <bool upper>
Result Case(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a test of letters", arguments, {}).status());
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  return AllOfCase(runtime, text, upper);
}

absl::StatusOr<bool> Divisible(Runtime& runtime, const Value& input, const Value& by, int64_t rest) {
  if (!input.is_number()) return Fail("found ", TypeName(input), " to divide, expected a number");
  ASSIGN_OR_RETURN(const Value left, Arithmetic(runtime, "%", input, by));
  return Equal(left, Value::Int(rest));
}

template <int64_t rest>
Result Parity(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a test of numbers", arguments, {}).status());
  return Divisible(runtime, input, Value::Int(2), rest);
}

Result DivisibleBy(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("divisibleby", arguments, {"num"}, 1));
  return Divisible(runtime, input, *given[0], 0);
}

enum class Operation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn };

template <Operation operation>
Result Compared(Runtime& runtime, const Value& input, const Arguments& arguments) {
  constexpr absl::string_view kOperations[] = {"==", "!=", "<", "<=", ">", ">=", "in"};
  ASSIGN_OR_RETURN(const auto given, Bind("a comparison", arguments, {"other"}, 1));
  return Compare(runtime, kOperations[static_cast<int>(operation)], input, *given[0]);
}

Result SameAs(Runtime&, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("sameas", arguments, {"other"}, 1));
  const bool constants =
      input.kind() <= Kind::kBool && given[0]->kind() <= Kind::kBool && !input.is_undefined() && !given[0]->is_undefined();
  if (!constants) return Fail("sameas: found other values than true, false and none, which is not supported");
  return input.kind() == given[0]->kind() && Equal(input, *given[0]);
}

template <bool filter>
Result Known(Runtime&, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a test of names", arguments, {}).status());
  if (!input.is_text()) return false;
  return filter ? FindFilter(input.text().bytes()) != nullptr : FindTest(input.text().bytes()) != nullptr;
}

struct NamedTest {
  absl::string_view name;
  TestFunction function;
};
constexpr TestFunction kEqual = Compared<Operation::kEqual>, kNotEqual = Compared<Operation::kNotEqual>,
                       kLess = Compared<Operation::kLess>, kLessEqual = Compared<Operation::kLessEqual>,
                       kGreater = Compared<Operation::kGreater>, kGreaterEqual = Compared<Operation::kGreaterEqual>;
constexpr NamedTest kTests[] = {
    {"!=", kNotEqual}, {"<", kLess}, {"<=", kLessEqual}, {"==", kEqual}, {">", kGreater}, {">=", kGreaterEqual},
    {"boolean", Simple<Boolean>}, {"callable", Simple<Callable>}, {"defined", Simple<Defined>}, {"divisibleby", DivisibleBy},
    {"eq", kEqual}, {"equalto", kEqual}, {"escaped", Simple<Escaped>}, {"even", Parity<0>}, {"false", Simple<False>},
    {"filter", Known<true>}, {"float", Simple<Float>}, {"ge", kGreaterEqual}, {"greaterthan", kGreater}, {"gt", kGreater},
    {"in", Compared<Operation::kIn>}, {"integer", Simple<Integer>}, {"iterable", Simple<Iterable>}, {"le", kLessEqual},
    {"lessthan", kLess}, {"lower", Case<false>}, {"lt", kLess}, {"mapping", Simple<IsMapping>}, {"ne", kNotEqual}, {"none", Simple<None>},
    {"number", Simple<Number>}, {"odd", Parity<1>}, {"sameas", SameAs}, {"sequence", Simple<Sequence>}, {"string", Simple<String>},
    {"test", Known<false>}, {"true", Simple<True>}, {"undefined", Simple<Undefined>}, {"upper", Case<true>},
};

}  // namespace

TestFunction FindTest(absl::string_view name) {
  for (const NamedTest& test : kTests) {
    if (test.name == name) return test.function;
  }
  return nullptr;
}

FilterFunction FindFilter(absl::string_view name) {
  for (const absl::Span<const NamedFilter> filters : {TextFilters(), ListFilters(), NumberFilters()}) {
    for (const NamedFilter& filter : filters) {
      if (filter.name == name) return filter.function;
    }
  }
  return nullptr;
}

}  // namespace tessera::jinja
