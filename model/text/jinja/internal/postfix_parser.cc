// The part of ExpressionParser behind a value: attributes, subscripts, calls, filters and tests.
#include <utility>

#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/expression_parser.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {

absl::StatusOr<ExpressionPtr> ExpressionParser::Postfix(ExpressionPtr of) {
  while (true) {
    if (stream_.IsOperator(".")) {
      ASSIGN_OR_RETURN(of, Attribute(std::move(of)));
    } else if (stream_.IsOperator("[")) {
      ASSIGN_OR_RETURN(of, Subscript(std::move(of)));
    } else if (stream_.IsOperator("(")) {
      ASSIGN_OR_RETURN(of, Call(std::move(of)));
    } else {
      return of;
    }
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::FiltersAndTests(ExpressionPtr of) {
  while (true) {
    if (stream_.TakeOperator("|")) {
      ASSIGN_OR_RETURN(of, Filters(std::move(of), /*begins_with_name=*/true));
    } else if (stream_.IsName("is")) {
      ASSIGN_OR_RETURN(of, Test(std::move(of)));
    } else if (stream_.IsOperator("(")) {
      ASSIGN_OR_RETURN(of, Call(std::move(of)));
    } else {
      return of;
    }
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Attribute(ExpressionPtr of) {
  const int line = stream_.line();
  stream_.Skip();
  if (stream_.Is(Token::Kind::kName)) {
    auto made = Make(Kind::kAttribute, line);
    made->name = stream_.current().text;
    stream_.Skip();
    made->operands.push_back(std::move(of));
    return Built(std::move(made));
  }
  if (!stream_.Is(Token::Kind::kNumber) || stream_.current().number.kind() != Value::Kind::kInt)
    return stream_.Unexpected("a name or a number");
  auto made = Make(Kind::kSubscript, line);
  auto index = Make(Kind::kConstant, line);
  index->constant = stream_.current().number;
  stream_.Skip();
  made->operands.push_back(std::move(of));
  made->operands.push_back(std::move(index));
  return Built(std::move(made));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Subscript(ExpressionPtr of) {
  const int line = stream_.line();
  stream_.Skip();
  ASSIGN_OR_RETURN(ExpressionPtr part, SubscriptPart());
  if (stream_.IsOperator(",")) return AtLine(line, Fail("found several subscripts, expected one"));
  RETURN_IF_ERROR(stream_.ExpectOperator("]"));
  part->operands.insert(part->operands.begin(), std::move(of));
  part->line = line;
  return Built(std::move(part));
}

// Parses a subscript or a slice, without the value in front.
absl::StatusOr<ExpressionPtr> ExpressionParser::SubscriptPart() {
  std::vector<ExpressionPtr> bounds;
  const auto bound = [&]() -> absl::Status {
    bounds.emplace_back();
    if (stream_.IsOperator(":") || stream_.IsOperator("]") || stream_.IsOperator(",")) return absl::OkStatus();
    ASSIGN_OR_RETURN(bounds.back(), Whole());
    return absl::OkStatus();
  };
  const int line = stream_.line();
  if (stream_.IsOperator("]")) return stream_.Unexpected("a subscript");
  RETURN_IF_ERROR(bound());
  if (!stream_.IsOperator(":")) {
    if (bounds[0] == nullptr) return stream_.Unexpected("a subscript");
    return Make(Kind::kSubscript, line, std::move(bounds));
  }
  while (bounds.size() < 3 && stream_.TakeOperator(":")) RETURN_IF_ERROR(bound());
  bounds.resize(3);
  return Make(Kind::kSlice, line, std::move(bounds));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Call(ExpressionPtr of) {
  auto made = Make(Kind::kCall, stream_.line());
  made->operands.push_back(std::move(of));
  ASSIGN_OR_RETURN(made->arguments, ArgumentsInBrackets());
  return Built(std::move(made));
}

absl::StatusOr<std::string> ExpressionParser::DottedName() {
  ASSIGN_OR_RETURN(std::string name, stream_.ExpectAnyName());
  while (stream_.TakeOperator(".")) {
    ASSIGN_OR_RETURN(const std::string part, stream_.ExpectAnyName());
    absl::StrAppend(&name, ".", part);
  }
  return name;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Filters(ExpressionPtr input, bool begins_with_name) {
  while (begins_with_name || stream_.TakeOperator("|")) {
    begins_with_name = false;
    auto made = Make(Kind::kFilter, stream_.line());
    ASSIGN_OR_RETURN(made->name, DottedName());
    made->filter = FindFilter(made->name);
    made->operands.push_back(std::move(input));
    if (stream_.IsOperator("(")) {
      ASSIGN_OR_RETURN(made->arguments, ArgumentsInBrackets());
    }
    ASSIGN_OR_RETURN(input, Built(std::move(made)));
  }
  return input;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Test(ExpressionPtr of) {
  auto made = Make(Kind::kTest, stream_.line());
  stream_.Skip();
  const bool negated = stream_.TakeName("not");
  ASSIGN_OR_RETURN(made->name, DottedName());
  made->test = FindTest(made->name);
  made->operands.push_back(std::move(of));
  const bool operand = stream_.Is(Token::Kind::kString) || stream_.Is(Token::Kind::kNumber) || stream_.IsOperator("[") ||
                       stream_.IsOperator("{") || stream_.Is(Token::Kind::kName);
  if (stream_.IsOperator("(")) {
    ASSIGN_OR_RETURN(made->arguments, ArgumentsInBrackets());
  } else if (stream_.IsName("is")) {
    return stream_.Unexpected("one test, not several");
  } else if (operand && !stream_.IsName("else") && !stream_.IsName("or") && !stream_.IsName("and")) {
    const Nesting nesting(state_);
    RETURN_IF_ERROR(nesting.Check());
    ASSIGN_OR_RETURN(ExpressionPtr argument, Primary());
    ASSIGN_OR_RETURN(argument, Postfix(std::move(argument)));
    made->arguments.positional.push_back(std::move(argument));
  }
  ASSIGN_OR_RETURN(ExpressionPtr test, Built(std::move(made)));
  if (!negated) return test;
  auto negation = Make(Kind::kNot, test->line);
  negation->operands.push_back(std::move(test));
  return Built(std::move(negation));
}

absl::Status ExpressionParser::CallArgument(CallArguments& arguments) {
  const bool positional = arguments.more_positional == nullptr && arguments.more_named == nullptr && arguments.named.empty();
  if (stream_.TakeOperator("*")) {
    if (arguments.more_positional != nullptr || arguments.more_named != nullptr) return stream_.Unexpected("one *list before **dict");
    ASSIGN_OR_RETURN(arguments.more_positional, Whole());
  } else if (arguments.more_named != nullptr) {
    return stream_.Unexpected(") behind **dict");
  } else if (stream_.TakeOperator("**")) {
    ASSIGN_OR_RETURN(arguments.more_named, Whole());
  } else if (stream_.Is(Token::Kind::kName) && stream_.next().kind == Token::Kind::kOperator && stream_.next().text == "=") {
    const std::string name = stream_.current().text;
    for (const auto& [other, value] : arguments.named) {
      if (other == name) return AtLine(stream_.line(), Fail("found the argument ", Quoted(name), " twice"));
    }
    stream_.Skip();
    stream_.Skip();
    ASSIGN_OR_RETURN(ExpressionPtr value, Whole());
    arguments.named.emplace_back(name, std::move(value));
  } else if (positional) {
    ASSIGN_OR_RETURN(ExpressionPtr value, Whole());
    arguments.positional.push_back(std::move(value));
  } else {
    return stream_.Unexpected("name=value");
  }
  return absl::OkStatus();
}

absl::StatusOr<CallArguments> ExpressionParser::ArgumentsInBrackets() {
  const Nesting nesting(state_);
  RETURN_IF_ERROR(nesting.Check());
  CallArguments arguments;
  RETURN_IF_ERROR(stream_.ExpectOperator("("));
  while (!stream_.IsOperator(")")) {
    RETURN_IF_ERROR(CallArgument(arguments));
    if (!stream_.TakeOperator(",")) break;
  }
  RETURN_IF_ERROR(stream_.ExpectOperator(")"));
  return arguments;
}

}  // namespace tessera::jinja
