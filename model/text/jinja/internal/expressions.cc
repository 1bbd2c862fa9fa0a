// The part of Interpreter that evaluates expressions.
#include <optional>
#include <utility>

#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/interpreter.h"
#include "tessera/model/text/jinja/internal/operators.h"

namespace tessera::jinja {

using Kind = Expression::Kind;

absl::StatusOr<Value> Interpreter::Evaluate(const Expression& expression, const FramePtr& frame) {
  const Runtime::Level level(runtime_);
  Result result = Value();
  if (const absl::Status deep = level.Check(); !deep.ok()) result = deep;
  else if (const absl::Status spent = runtime_.Step(); !spent.ok()) result = spent;
  else result = EvaluateByKind(expression, frame);
  return result.ok() ? std::move(result) : AtLine(expression.line, result.status());
}

absl::StatusOr<Value> Interpreter::EvaluateByKind(const Expression& expression, const FramePtr& frame) {
  switch (expression.kind) {
    case Kind::kConstant: return expression.constant;
    case Kind::kName: return Name(expression, frame);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: return Collection(expression, frame);
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kNot: return Logical(expression, frame);
    case Kind::kConcatenation:
    case Kind::kArithmetic: return Chain(expression, frame);
    case Kind::kComparison: return Comparison(expression, frame);
    case Kind::kConditional: return Conditional(expression, frame);
    case Kind::kSlice: return SliceOf(expression, frame);
    case Kind::kTest: return Test(expression, frame);
    case Kind::kCall: return Call(expression, frame, std::nullopt);
    default: break;
  }
  ASSIGN_OR_RETURN(const Value of, Evaluate(*expression.operands[0], frame));
  if (expression.kind == Kind::kSigned) return Signed(expression.name, of);
  if (expression.kind == Kind::kAttribute) return runtime_.Attribute(of, expression.name);
  if (expression.kind == Kind::kFilter) return Filter(expression, of, frame);
  ASSIGN_OR_RETURN(const Value subscript, Evaluate(*expression.operands[1], frame));
  return runtime_.Element(of, subscript);
}

absl::StatusOr<Value> Interpreter::Name(const Expression& expression, const FramePtr& frame) {
  const std::optional<Value>& value = At(*frame, expression.slot);
  return value ? *value : Value::Undefined(expression.name);
}

absl::StatusOr<std::vector<Value>> Interpreter::All(const std::vector<ExpressionPtr>& expressions, const FramePtr& frame) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) {
    ASSIGN_OR_RETURN(values.emplace_back(), Evaluate(*expression, frame));
  }
  return values;
}

absl::StatusOr<Value> Interpreter::Collection(const Expression& expression, const FramePtr& frame) {
  ASSIGN_OR_RETURN(std::vector<Value> values, All(expression.operands, frame));
  if (expression.kind == Kind::kList) return runtime_.List(std::move(values));
  if (expression.kind == Kind::kTuple) return runtime_.New(Items{Items::Form::kTuple, std::move(values)});
  Mapping mapping;
  for (size_t i = 0; i < values.size(); i += 2) {
    RETURN_IF_ERROR(CheckHashable(values[i]));
    RETURN_IF_ERROR(runtime_.Step(static_cast<size_t>(values[i].weight())));
    mapping.Set(values[i], values[i + 1]);
  }
  return runtime_.New(std::move(mapping));
}

absl::StatusOr<Value> Interpreter::Logical(const Expression& expression, const FramePtr& frame) {
  Value value;
  for (const ExpressionPtr& operand : expression.operands) {
    ASSIGN_OR_RETURN(value, Evaluate(*operand, frame));
    if (expression.kind == Kind::kNot) return Value::Bool(!Truth(value));
    if (Truth(value) == (expression.kind == Kind::kOr)) return value;
  }
  return value;
}

absl::StatusOr<Value> Interpreter::Chain(const Expression& expression, const FramePtr& frame) {
  if (expression.kind == Kind::kConcatenation) {
    ASSIGN_OR_RETURN(const std::vector<Value> values, All(expression.operands, frame));
    return Concatenate(runtime_, values);
  }
  ASSIGN_OR_RETURN(Value value, Evaluate(*expression.operands[0], frame));
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    ASSIGN_OR_RETURN(const Value right, Evaluate(*expression.operands[i + 1], frame));
    ASSIGN_OR_RETURN(value, Arithmetic(runtime_, expression.operators[i], value, right));
  }
  return value;
}

absl::StatusOr<Value> Interpreter::Comparison(const Expression& expression, const FramePtr& frame) {
  ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], frame));
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    ASSIGN_OR_RETURN(Value right, Evaluate(*expression.operands[i + 1], frame));
    ASSIGN_OR_RETURN(const bool holds, Compare(runtime_, expression.operators[i], left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

absl::StatusOr<Value> Interpreter::Conditional(const Expression& expression, const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value condition, Evaluate(*expression.operands[0], frame));
  const ExpressionPtr& chosen = expression.operands[Truth(condition) ? 1 : 2];
  return chosen == nullptr ? Value::Undefined("the value of an if without else") : Evaluate(*chosen, frame);
}

absl::StatusOr<Value> Interpreter::SliceOf(const Expression& expression, const FramePtr& frame) {
  Value parts[4] = {Value::None(), Value::None(), Value::None(), Value::None()};
  for (size_t i = 0; i < 4; ++i) {
    if (expression.operands[i] == nullptr) continue;
    ASSIGN_OR_RETURN(parts[i], Evaluate(*expression.operands[i], frame));
  }
  return Slice(runtime_, parts[0], parts[1], parts[2], parts[3]);
}

absl::StatusOr<Value> Interpreter::Filter(const Expression& expression, const Value& input, const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Arguments arguments, ArgumentsOf(expression.arguments, frame));
  if (expression.filter == nullptr) return Fail("found the filter ", Quoted(expression.name), ", expected one that chat templates use");
  return expression.filter(runtime_, input, arguments);
}

absl::StatusOr<Value> Interpreter::Filtered(const Expression* filter, Text text, const FramePtr& frame) {
  std::vector<const Expression*> filters;  // The outermost first.
  for (; filter != nullptr; filter = filter->operands[0].get()) filters.push_back(filter);
  ASSIGN_OR_RETURN(Value value, runtime_.New(std::move(text)));
  for (; !filters.empty(); filters.pop_back()) {
    Result filtered = Filter(*filters.back(), value, frame);
    if (!filtered.ok()) return AtLine(filters.back()->line, filtered.status());
    value = *std::move(filtered);
  }
  return value;
}

absl::StatusOr<Value> Interpreter::Test(const Expression& expression, const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value input, Evaluate(*expression.operands[0], frame));
  ASSIGN_OR_RETURN(const Arguments arguments, ArgumentsOf(expression.arguments, frame));
  if (expression.test == nullptr) return Fail("found the test ", Quoted(expression.name), ", expected one that chat templates use");
  ASSIGN_OR_RETURN(const bool passes, expression.test(runtime_, input, arguments));
  return Value::Bool(passes);
}

absl::StatusOr<Value> Interpreter::Call(const Expression& expression, const FramePtr& frame, std::optional<Value> caller) {
  ASSIGN_OR_RETURN(const Value callee, Evaluate(*expression.operands[0], frame));
  ASSIGN_OR_RETURN(Arguments arguments, ArgumentsOf(expression.arguments, frame));
  if (caller) arguments.named.emplace_back(Text("caller", /*from_data=*/false), *std::move(caller));
  return runtime_.Call(callee, std::move(arguments));
}

absl::StatusOr<Arguments> Interpreter::ArgumentsOf(const CallArguments& arguments, const FramePtr& frame) {
  Arguments values;
  ASSIGN_OR_RETURN(values.positional, All(arguments.positional, frame));
  for (const auto& [name, expression] : arguments.named) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*expression, frame));
    values.named.emplace_back(Text(name, /*from_data=*/false), std::move(value));
  }
  if (arguments.more_positional != nullptr) {
    ASSIGN_OR_RETURN(const Value list, Evaluate(*arguments.more_positional, frame));
    ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime_.Elements(list));
    values.positional.insert(values.positional.end(), elements.begin(), elements.end());
  }
  if (arguments.more_named == nullptr) return values;
  ASSIGN_OR_RETURN(const Value dict, Evaluate(*arguments.more_named, frame));
  if (dict.kind() != Value::Kind::kMapping) return Fail("found ", TypeName(dict), " behind **, expected a dict");
  const size_t written = values.named.size();
  RETURN_IF_ERROR(runtime_.Step(dict.mapping().size() * (1 + written)));
  for (const auto& [key, value] : dict.mapping().entries()) {
    if (!key.is_text()) return Fail("found ", TypeName(key), " as an argument's name, expected text");
    for (size_t i = 0; i < written; ++i) {  // Keys of the dict differ from each other.
      const std::string& name = values.named[i].first.bytes();
      if (name == key.text().bytes()) return Fail("found the argument ", Quoted(name), " twice");
    }
    values.named.emplace_back(key.text(), value);
  }
  return values;
}

}  // namespace tessera::jinja
