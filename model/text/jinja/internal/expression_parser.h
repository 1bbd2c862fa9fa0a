// Parses expressions: the part of the grammar between {{ }} and in blocks.
//
//   ParserState state{TokenStream(std::move(tokens))};
//   ASSIGN_OR_RETURN(ExpressionPtr expression, ExpressionParser(state).Whole());
//
// Reads up to the end of the expression: the caller reads the rest. Errors: line, found and expected. Thread-compatible.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/syntax.h"
#include "tessera/model/text/jinja/internal/token_stream.h"

namespace tessera::jinja {

// State shared by the parsers of expressions and of statements.
struct ParserState {
  static constexpr int kMaxDepth = 64;     // Nested brackets and blocks.
  static constexpr int kMaxHeight = 160;   // One expression's tree, attributes and filters included.

  TokenStream stream;
  int depth = 0;
  // Per enclosing macro: the ones of caller, kwargs and varargs that the macro's body reads.
  std::vector<std::set<std::string>> asked = {};
};

// Counts one level of nesting during its lifetime. Check returns an error if the nesting is too deep.
class Nesting {
 public:
  explicit Nesting(ParserState& state) : state_(state) { ++state_.depth; }
  ~Nesting() { --state_.depth; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  absl::Status Check() const;

 private:
  ParserState& state_;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(ParserState& state) : state_(state), stream_(state.stream) {}

  absl::StatusOr<ExpressionPtr> Whole(bool conditional = true);  // With `a if b else c`, unless `conditional` is false.
  // Parses one expression. Several expressions, or one with a comma behind, are a tuple. The tuple ends where no expression can stand:
  // before `}}`, `%}`, `)` or the name `end`. An empty tuple is an error unless `may_be_empty`.
  absl::StatusOr<ExpressionPtr> Tuple(bool conditional = true, absl::string_view end = "", bool may_be_empty = false);
  absl::StatusOr<ExpressionPtr> Filters(ExpressionPtr input, bool begins_with_name);  // name(...)|name...; a null input is a block's.

 private:
  using Kind = Expression::Kind;
  using Rule = absl::StatusOr<ExpressionPtr> (ExpressionParser::*)();

  ExpressionPtr Make(Kind kind, int line, std::vector<ExpressionPtr> operands = {});
  absl::StatusOr<ExpressionPtr> Built(ExpressionPtr made);  // Sets the height; an error if the expression is too deep.
  absl::StatusOr<ExpressionPtr> Chain(Kind kind, Rule operand, absl::Span<const absl::string_view> operators);
  absl::StatusOr<ExpressionPtr> Logical(Kind kind, Rule operand, absl::string_view word);

  absl::StatusOr<ExpressionPtr> Or();
  absl::StatusOr<ExpressionPtr> And();
  absl::StatusOr<ExpressionPtr> Not();
  absl::StatusOr<ExpressionPtr> Comparison();
  absl::StatusOr<ExpressionPtr> Sum();
  absl::StatusOr<ExpressionPtr> Concatenation();
  absl::StatusOr<ExpressionPtr> Product();
  absl::StatusOr<ExpressionPtr> Power();
  absl::StatusOr<ExpressionPtr> Unary() { return Signed(true); }
  absl::StatusOr<ExpressionPtr> Signed(bool with_filters);
  absl::StatusOr<ExpressionPtr> Primary();
  absl::StatusOr<ExpressionPtr> Name();
  absl::StatusOr<ExpressionPtr> List();
  absl::StatusOr<ExpressionPtr> Dict();
  absl::StatusOr<ExpressionPtr> Postfix(ExpressionPtr of);
  absl::StatusOr<ExpressionPtr> FiltersAndTests(ExpressionPtr of);
  absl::StatusOr<ExpressionPtr> Attribute(ExpressionPtr of);
  absl::StatusOr<ExpressionPtr> Subscript(ExpressionPtr of);
  absl::StatusOr<ExpressionPtr> SubscriptPart();
  absl::StatusOr<ExpressionPtr> Call(ExpressionPtr of);
  absl::StatusOr<ExpressionPtr> Test(ExpressionPtr of);
  absl::StatusOr<std::string> DottedName();
  absl::Status CallArgument(CallArguments& arguments);
  absl::StatusOr<CallArguments> ArgumentsInBrackets();

  ParserState& state_;
  TokenStream& stream_;
};

}  // namespace tessera::jinja
