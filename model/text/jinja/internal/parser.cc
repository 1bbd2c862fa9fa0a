#include "tessera/model/text/jinja/internal/parser.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/expression_parser.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/scopes.h"

namespace tessera::jinja {
namespace {

using Kind = Statement::Kind;

class StatementParser {
 public:
  explicit StatementParser(TokenStream stream) : state_{.stream = std::move(stream)}, stream_(state_.stream), expressions_(state_) {}

  absl::StatusOr<Body> Whole() {
    ASSIGN_OR_RETURN(Body body, Statements({}));
    if (!stream_.Is(Token::Kind::kEnd)) return stream_.Unexpected("the end of the template");
    return body;
  }

 private:
  // Parses statements up to a block that begins with one of `ends`. The block's name is then current.
  absl::StatusOr<Body> Statements(absl::Span<const absl::string_view> ends) {
    const Nesting nesting(state_);
    RETURN_IF_ERROR(nesting.Check());
    Body body;
    while (!stream_.Is(Token::Kind::kEnd)) {
      Statement made{Kind::kText, stream_.line()};
      if (stream_.Is(Token::Kind::kData)) {
        made.text = stream_.current().text;
        stream_.Skip();
      } else if (stream_.Is(Token::Kind::kPrintBegin)) {
        stream_.Skip();
        made.kind = Kind::kPrint;
        ASSIGN_OR_RETURN(made.expression, expressions_.Tuple());
        RETURN_IF_ERROR(stream_.Expect(Token::Kind::kPrintEnd));
      } else {
        RETURN_IF_ERROR(stream_.Expect(Token::Kind::kBlockBegin));
        if (std::any_of(ends.begin(), ends.end(), [&](absl::string_view end) { return stream_.IsName(end); })) return body;
        ASSIGN_OR_RETURN(made, Block(ends));
        RETURN_IF_ERROR(stream_.Expect(Token::Kind::kBlockEnd));
      }
      body.statements.push_back(std::move(made));
    }
    if (!ends.empty()) return stream_.Unexpected(absl::StrCat("{% ", ends.back(), " %}"));
    return body;
  }

  // Parses the body of a block: behind the opening tag, up to one of `ends`. A single end is taken.
  absl::StatusOr<Body> BodyOf(absl::Span<const absl::string_view> ends) {
    stream_.TakeOperator(":");
    RETURN_IF_ERROR(stream_.Expect(Token::Kind::kBlockEnd));
    ASSIGN_OR_RETURN(Body body, Statements(ends));
    if (ends.size() == 1) stream_.Skip();
    return body;
  }
  absl::StatusOr<Body> BodyOf(absl::string_view end) { return BodyOf(absl::MakeConstSpan(&end, 1)); }

  // Parses a body that break and continue cannot leave.
  absl::StatusOr<Body> BodyOfFunction(absl::string_view end) {
    const int loops = std::exchange(loops_, 0);
    ASSIGN_OR_RETURN(Body body, BodyOf(end));
    loops_ = loops;
    return body;
  }

  absl::StatusOr<Statement> Block(absl::Span<const absl::string_view> ends) {
    using Rule = absl::StatusOr<Statement> (StatementParser::*)(Statement);
    static constexpr std::pair<absl::string_view, Rule> kRules[] = {
        {"set", &StatementParser::Set},         {"for", &StatementParser::For},           {"if", &StatementParser::If},
        {"macro", &StatementParser::Macro},     {"call", &StatementParser::Call},         {"filter", &StatementParser::Filter},
        {"with", &StatementParser::With},       {"generation", &StatementParser::Generation},
        {"print", &StatementParser::Print},     {"break", &StatementParser::Jump},        {"continue", &StatementParser::Jump},
    };
    Statement made{Kind::kText, stream_.line()};
    if (!stream_.Is(Token::Kind::kName)) return stream_.Unexpected("the name of a block");
    for (const auto& [name, rule] : kRules) {
      if (!stream_.IsName(name)) continue;
      if (rule != &StatementParser::Jump) stream_.Skip();
      return (this->*rule)(std::move(made));
    }
    if (ends.empty()) return stream_.Unexpected("a block that chat templates use");
    return stream_.Unexpected(absl::StrCat("a block that chat templates use, or ", ends.back()));
  }

  absl::StatusOr<Target> TargetOf(bool attributes) {
    Target target{.line = stream_.line()};
    if (stream_.TakeOperator("(")) {
      const Nesting nesting(state_);
      RETURN_IF_ERROR(nesting.Check());
      ASSIGN_OR_RETURN(target, Targets(/*attributes=*/false));
      RETURN_IF_ERROR(stream_.ExpectOperator(")"));
      return target;
    }
    ASSIGN_OR_RETURN(target.name, NewName());
    if (attributes && stream_.TakeOperator(".")) {
      target.kind = Target::Kind::kAttribute;
      ASSIGN_OR_RETURN(target.attribute, stream_.ExpectAnyName());
    } else if (loops_ > 0 && target.name == "loop") {
      return AtLine(target.line, Fail("found an assignment to loop within a loop, expected another name"));
    }
    return target;
  }

  absl::StatusOr<std::string> NewName() {
    for (const absl::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (stream_.IsName(constant)) return stream_.Unexpected("a name that can be assigned to");
    }
    return stream_.ExpectAnyName();
  }

  // Parses one target, or a tuple of targets.
  absl::StatusOr<Target> Targets(bool attributes) {
    Target tuple{.kind = Target::Kind::kTuple, .line = stream_.line()};
    bool is_tuple = false;
    while (tuple.elements.empty() || is_tuple) {
      if (is_tuple && !stream_.Is(Token::Kind::kName) && !stream_.IsOperator("(")) break;
      if (is_tuple && stream_.IsName("in")) break;
      ASSIGN_OR_RETURN(Target element, TargetOf(attributes));
      tuple.elements.push_back(std::move(element));
      if (!stream_.TakeOperator(",")) break;
      is_tuple = true;
    }
    if (is_tuple) return tuple;
    Target only = std::move(tuple.elements[0]);
    return only;
  }

  absl::StatusOr<Statement> Set(Statement made) {
    ASSIGN_OR_RETURN(made.target, Targets(/*attributes=*/true));
    if (stream_.TakeOperator("=")) {
      made.kind = Kind::kSet;
      ASSIGN_OR_RETURN(made.expression, expressions_.Tuple());
      return made;
    }
    made.kind = Kind::kSetBlock;
    ASSIGN_OR_RETURN(made.expression, expressions_.Filters(nullptr, /*begins_with_name=*/false));
    ASSIGN_OR_RETURN(made.body, BodyOf("endset"));
    return made;
  }

  absl::StatusOr<Statement> For(Statement made) {
    made.kind = Kind::kFor;
    ASSIGN_OR_RETURN(made.target, Targets(/*attributes=*/false));
    if (made.target.kind == Target::Kind::kName && made.target.name == "loop") return AtLine(made.line, Fail("found a loop over loop"));
    RETURN_IF_ERROR(stream_.ExpectName("in"));
    ASSIGN_OR_RETURN(made.expression, expressions_.Tuple(/*conditional=*/false, "recursive"));
    if (stream_.TakeName("if")) {
      ASSIGN_OR_RETURN(made.filter_test, expressions_.Whole());
    }
    if (stream_.IsName("recursive")) return stream_.Unexpected("%}: recursive loops are not supported");
    ++loops_;
    ASSIGN_OR_RETURN(made.body, BodyOf({"else", "endfor"}));
    --loops_;
    if (stream_.TakeName("else")) {
      ASSIGN_OR_RETURN(Body otherwise, BodyOf("endfor"));
      made.branches.push_back(std::move(otherwise));
    } else {
      stream_.Skip();
    }
    return made;
  }

  absl::StatusOr<Statement> If(Statement made) {
    made.kind = Kind::kIf;
    while (true) {
      ASSIGN_OR_RETURN(ExpressionPtr condition, expressions_.Tuple(/*conditional=*/false));
      made.values.push_back(std::move(condition));
      ASSIGN_OR_RETURN(Body body, BodyOf({"elif", "else", "endif"}));
      made.branches.push_back(std::move(body));
      if (!stream_.TakeName("elif")) break;
    }
    if (stream_.TakeName("else")) {
      ASSIGN_OR_RETURN(Body otherwise, BodyOf("endif"));
      made.branches.push_back(std::move(otherwise));
    } else {
      stream_.Skip();
    }
    return made;
  }

  absl::Status Signature(Statement& made) {
    RETURN_IF_ERROR(stream_.ExpectOperator("("));
    while (!stream_.IsOperator(")")) {
      if (!made.parameters.empty()) RETURN_IF_ERROR(stream_.ExpectOperator(","));
      Target parameter{.line = stream_.line()};
      ASSIGN_OR_RETURN(parameter.name, NewName());
      if (stream_.TakeOperator("=")) {
        ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.Whole());
        made.values.push_back(std::move(value));
      } else if (!made.values.empty()) {
        return stream_.Unexpected("a default: the parameter before has one");
      }
      for (const Target& other : made.parameters) {
        if (other.name == parameter.name) return AtLine(parameter.line, Fail("found the parameter ", other.name, " twice"));
      }
      made.parameters.push_back(std::move(parameter));
    }
    return stream_.ExpectOperator(")");
  }

  // Parses the body of a macro or a call, and records the arguments that the body reads beyond the parameters.
  absl::Status FunctionBody(Statement& made, absl::string_view end) {
    state_.asked.emplace_back();
    ASSIGN_OR_RETURN(made.body, BodyOfFunction(end));
    const std::set<std::string> asked = std::move(state_.asked.back());
    state_.asked.pop_back();
    const auto wants = [&](const std::string& name) {
      const auto is_it = [&](const Target& parameter) { return parameter.name == name; };
      return asked.count(name) > 0 && std::none_of(made.parameters.begin(), made.parameters.end(), is_it);
    };
    made.uses_caller = wants("caller");
    made.uses_named = wants("kwargs");
    made.uses_positional = wants("varargs");
    return absl::OkStatus();
  }

  absl::StatusOr<Statement> Macro(Statement made) {
    made.kind = Kind::kMacro;
    ASSIGN_OR_RETURN(made.text, NewName());
    if (loops_ > 0 && made.text == "loop") return AtLine(made.line, Fail("found a macro named loop within a loop, expected another name"));
    RETURN_IF_ERROR(Signature(made));
    RETURN_IF_ERROR(FunctionBody(made, "endmacro"));
    return made;
  }

  absl::StatusOr<Statement> Call(Statement made) {
    made.kind = Kind::kCall;
    if (stream_.IsOperator("(")) RETURN_IF_ERROR(Signature(made));
    ASSIGN_OR_RETURN(made.expression, expressions_.Whole());
    if (made.expression->kind != Expression::Kind::kCall) return AtLine(made.line, Fail("found {% call %} without a call"));
    RETURN_IF_ERROR(FunctionBody(made, "endcall"));
    return made;
  }

  absl::StatusOr<Statement> Filter(Statement made) {
    made.kind = Kind::kFilter;
    ASSIGN_OR_RETURN(made.expression, expressions_.Filters(nullptr, /*begins_with_name=*/true));
    ASSIGN_OR_RETURN(made.body, BodyOf("endfilter"));
    return made;
  }

  absl::StatusOr<Statement> With(Statement made) {
    made.kind = Kind::kWith;
    while (!stream_.Is(Token::Kind::kBlockEnd)) {
      if (!made.parameters.empty()) RETURN_IF_ERROR(stream_.ExpectOperator(","));
      ASSIGN_OR_RETURN(Target target, TargetOf(/*attributes=*/false));
      RETURN_IF_ERROR(stream_.ExpectOperator("="));
      ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.Whole());
      made.parameters.push_back(std::move(target));
      made.values.push_back(std::move(value));
    }
    ASSIGN_OR_RETURN(made.body, BodyOf("endwith"));
    return made;
  }

  absl::StatusOr<Statement> Generation(Statement made) {
    made.kind = Kind::kGeneration;
    ASSIGN_OR_RETURN(made.body, BodyOfFunction("endgeneration"));
    return made;
  }

  absl::StatusOr<Statement> Print(Statement made) {
    made.kind = Kind::kPrint;
    ASSIGN_OR_RETURN(made.expression, expressions_.Whole());
    if (stream_.IsOperator(",")) return stream_.Unexpected("%}: one value per {% print %}");
    return made;
  }

  absl::StatusOr<Statement> Jump(Statement made) {
    if (loops_ == 0) return stream_.Unexpected("it within a loop");
    made.kind = stream_.IsName("break") ? Kind::kBreak : Kind::kContinue;
    stream_.Skip();
    return made;
  }

  ParserState state_;
  TokenStream& stream_;
  ExpressionParser expressions_;
  int loops_ = 0;  // Loops around the current place, within the same function.
};

}  // namespace

absl::StatusOr<Syntax> Parse(absl::string_view source) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  Syntax syntax;
  ASSIGN_OR_RETURN(syntax.body, StatementParser(TokenStream(std::move(tokens))).Whole());
  RETURN_IF_ERROR(ResolveNames(syntax));
  return syntax;
}

}  // namespace tessera::jinja
