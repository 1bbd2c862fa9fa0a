#include "tessera/model/text/jinja/internal/expression_parser.h"

#include <algorithm>
#include <utility>

#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {

absl::Status Nesting::Check() const {
  if (state_.depth <= ParserState::kMaxDepth) return absl::OkStatus();
  return AtLine(state_.stream.line(),
                absl::ResourceExhaustedError(absl::StrCat("found brackets or blocks in each other, expected at most ",
                                                          ParserState::kMaxDepth, " levels")));
}

ExpressionPtr ExpressionParser::Make(Kind kind, int line, std::vector<ExpressionPtr> operands) {
  auto made = std::make_unique<Expression>(Expression{kind, line});
  made->operands = std::move(operands);
  return made;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Built(ExpressionPtr made) {
  const auto include = [&](const ExpressionPtr& part) {
    if (part != nullptr) made->height = std::max(made->height, part->height + 1);
  };
  for (const ExpressionPtr& operand : made->operands) include(operand);
  for (const ExpressionPtr& argument : made->arguments.positional) include(argument);
  for (const auto& [name, argument] : made->arguments.named) include(argument);
  include(made->arguments.more_positional);
  include(made->arguments.more_named);
  if (made->height <= ParserState::kMaxHeight) return made;
  return AtLine(made->line, absl::ResourceExhaustedError(absl::StrCat("found an expression of more than ", ParserState::kMaxHeight,
                                                                      " levels, expected at most so many")));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Whole(bool conditional) {
  const Nesting nesting(state_);
  RETURN_IF_ERROR(nesting.Check());
  ASSIGN_OR_RETURN(ExpressionPtr value, Or());
  while (conditional && stream_.IsName("if")) {
    const int line = stream_.line();
    stream_.Skip();
    ASSIGN_OR_RETURN(ExpressionPtr condition, Or());
    ExpressionPtr otherwise;
    if (stream_.TakeName("else")) {
      ASSIGN_OR_RETURN(otherwise, Whole());
    }
    auto made = Make(Kind::kConditional, line);
    made->operands.push_back(std::move(condition));
    made->operands.push_back(std::move(value));
    made->operands.push_back(std::move(otherwise));
    ASSIGN_OR_RETURN(value, Built(std::move(made)));
  }
  return value;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Tuple(bool conditional, absl::string_view end, bool may_be_empty) {
  const int line = stream_.line();
  const auto ends = [&] {
    return stream_.Is(Token::Kind::kPrintEnd) || stream_.Is(Token::Kind::kBlockEnd) || stream_.IsOperator(")") ||
           (!end.empty() && stream_.IsName(end));
  };
  auto tuple = Make(Kind::kTuple, line);
  bool is_tuple = false;
  while (!ends()) {
    ASSIGN_OR_RETURN(ExpressionPtr element, Whole(conditional));
    tuple->operands.push_back(std::move(element));
    if (!stream_.TakeOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !tuple->operands.empty()) return std::move(tuple->operands[0]);
  if (!is_tuple && !may_be_empty) return stream_.Unexpected("an expression");
  return Built(std::move(tuple));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Logical(Kind kind, Rule operand, absl::string_view word) {
  const int line = stream_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, (this->*operand)());
  if (!stream_.IsName(word)) return first;
  auto made = Make(kind, line);
  made->operands.push_back(std::move(first));
  while (stream_.TakeName(word)) {
    ASSIGN_OR_RETURN(ExpressionPtr next, (this->*operand)());
    made->operands.push_back(std::move(next));
  }
  return Built(std::move(made));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Chain(Kind kind, Rule operand, absl::Span<const absl::string_view> operators) {
  const int line = stream_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, (this->*operand)());
  auto made = Make(kind, line);
  made->operands.push_back(std::move(first));
  const auto is_one = [&] {
    return stream_.Is(Token::Kind::kOperator) && std::find(operators.begin(), operators.end(), stream_.current().text) != operators.end();
  };
  while (is_one()) {
    made->operators.push_back(stream_.current().text);
    stream_.Skip();
    ASSIGN_OR_RETURN(ExpressionPtr next, (this->*operand)());
    made->operands.push_back(std::move(next));
  }
  if (made->operators.empty()) return std::move(made->operands[0]);
  return Built(std::move(made));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Or() { return Logical(Kind::kOr, &ExpressionParser::And, "or"); }
absl::StatusOr<ExpressionPtr> ExpressionParser::And() { return Logical(Kind::kAnd, &ExpressionParser::Not, "and"); }

absl::StatusOr<ExpressionPtr> ExpressionParser::Not() {
  const int line = stream_.line();
  if (!stream_.TakeName("not")) return Comparison();
  const Nesting nesting(state_);
  RETURN_IF_ERROR(nesting.Check());
  ASSIGN_OR_RETURN(ExpressionPtr operand, Not());
  auto made = Make(Kind::kNot, line);
  made->operands.push_back(std::move(operand));
  return Built(std::move(made));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Comparison() {
  const int line = stream_.line();
  constexpr absl::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};
  ASSIGN_OR_RETURN(ExpressionPtr first, Sum());
  auto made = Make(Kind::kComparison, line);
  made->operands.push_back(std::move(first));
  while (true) {
    const bool is_operator = stream_.Is(Token::Kind::kOperator) &&
                             std::find(std::begin(kOperators), std::end(kOperators), stream_.current().text) != std::end(kOperators);
    const bool is_not_in = stream_.IsName("not") && stream_.next().kind == Token::Kind::kName && stream_.next().text == "in";
    if (!is_operator && !is_not_in && !stream_.IsName("in")) break;
    made->operators.push_back(is_not_in ? "not in" : stream_.current().text);
    if (is_not_in) stream_.Skip();
    stream_.Skip();
    ASSIGN_OR_RETURN(ExpressionPtr next, Sum());
    made->operands.push_back(std::move(next));
  }
  if (made->operators.empty()) return std::move(made->operands[0]);
  return Built(std::move(made));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Sum() {
  return Chain(Kind::kArithmetic, &ExpressionParser::Concatenation, {"+", "-"});
}
absl::StatusOr<ExpressionPtr> ExpressionParser::Concatenation() {
  return Chain(Kind::kConcatenation, &ExpressionParser::Product, {"~"});
}
absl::StatusOr<ExpressionPtr> ExpressionParser::Product() {
  return Chain(Kind::kArithmetic, &ExpressionParser::Power, {"*", "/", "//", "%"});
}
absl::StatusOr<ExpressionPtr> ExpressionParser::Power() { return Chain(Kind::kArithmetic, &ExpressionParser::Unary, {"**"}); }

absl::StatusOr<ExpressionPtr> ExpressionParser::Signed(bool with_filters) {
  const int line = stream_.line();
  ExpressionPtr value;
  if (stream_.IsOperator("-") || stream_.IsOperator("+")) {
    const Nesting nesting(state_);
    RETURN_IF_ERROR(nesting.Check());
    auto made = Make(Kind::kSigned, line);
    made->name = stream_.current().text;
    stream_.Skip();
    ASSIGN_OR_RETURN(ExpressionPtr operand, Signed(false));
    made->operands.push_back(std::move(operand));
    ASSIGN_OR_RETURN(value, Built(std::move(made)));
  } else {
    ASSIGN_OR_RETURN(value, Primary());
  }
  ASSIGN_OR_RETURN(value, Postfix(std::move(value)));
  if (!with_filters) return value;
  return FiltersAndTests(std::move(value));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Name() {
  auto made = Make(Kind::kName, stream_.line());
  made->name = stream_.current().text;
  stream_.Skip();
  const std::string& name = made->name;
  const bool is_true = name == "true" || name == "True", is_false = name == "false" || name == "False";
  if (is_true || is_false || name == "none" || name == "None") {
    made->kind = Kind::kConstant;
    made->constant = is_true || is_false ? Value::Bool(is_true) : Value::None();
  } else if (name == "caller" || name == "kwargs" || name == "varargs") {
    for (std::set<std::string>& asked : state_.asked) asked.insert(name);
  }
  return made;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Primary() {
  auto made = Make(Kind::kConstant, stream_.line());
  if (stream_.Is(Token::Kind::kName)) return Name();
  if (stream_.Is(Token::Kind::kString)) {
    std::string text;
    for (; stream_.Is(Token::Kind::kString); stream_.Skip()) text += stream_.current().text;
    made->constant = Value::Of(Text(text, /*from_data=*/false));
    return made;
  }
  if (stream_.Is(Token::Kind::kNumber)) {
    made->constant = stream_.current().number;
    stream_.Skip();
    return made;
  }
  if (stream_.TakeOperator("(")) {
    ASSIGN_OR_RETURN(ExpressionPtr inner, Tuple(/*conditional=*/true, "", /*may_be_empty=*/true));
    RETURN_IF_ERROR(stream_.ExpectOperator(")"));
    return inner;
  }
  if (stream_.IsOperator("[")) return List();
  if (stream_.IsOperator("{")) return Dict();
  return stream_.Unexpected("an expression");
}

absl::StatusOr<ExpressionPtr> ExpressionParser::List() {
  auto made = Make(Kind::kList, stream_.line());
  stream_.Skip();
  while (!stream_.IsOperator("]")) {
    ASSIGN_OR_RETURN(ExpressionPtr element, Whole());
    made->operands.push_back(std::move(element));
    if (!stream_.TakeOperator(",")) break;
  }
  RETURN_IF_ERROR(stream_.ExpectOperator("]"));
  return Built(std::move(made));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Dict() {
  auto made = Make(Kind::kDict, stream_.line());
  stream_.Skip();
  while (!stream_.IsOperator("}")) {
    ASSIGN_OR_RETURN(ExpressionPtr key, Whole());
    RETURN_IF_ERROR(stream_.ExpectOperator(":"));
    ASSIGN_OR_RETURN(ExpressionPtr value, Whole());
    made->operands.push_back(std::move(key));
    made->operands.push_back(std::move(value));
    if (!stream_.TakeOperator(",")) break;
  }
  RETURN_IF_ERROR(stream_.ExpectOperator("}"));
  return Built(std::move(made));
}

}  // namespace tessera::jinja
