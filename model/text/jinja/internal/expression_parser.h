// Parses expressions: the part of the grammar that stands between {{ }}, and in blocks.
//
//   ParserState state{TokenStream(std::move(tokens))};
//   ASSIGN_OR_RETURN(ExpressionPtr expression, ExpressionParser(state).Whole());
//
// It reads as far as the expression goes: what follows is the caller's. Errors name the line, what was found and what was expected.
// Thread-compatible.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/syntax.h"
#include "tessera/model/text/jinja/internal/token_stream.h"

namespace tessera::jinja {

// What the parsers of expressions and of statements share.
struct ParserState {
  static constexpr int kMaxDepth = 64;     // Brackets and blocks in each other.
  static constexpr int kMaxHeight = 160;   // One expression's tree, attributes and filters included.

  TokenStream stream;
  int depth = 0;
  std::vector<std::set<std::string>> asked = {};  // Per macro around: which of caller, kwargs and varargs its body reads.
};

// Counts one level as long as it lives; an error where that is too deep.
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

  absl::StatusOr<ExpressionPtr> Whole(bool conditional = true);  // With `a if b else c`, unless not `conditional`.
  // One expression; several, or one with a comma behind it, are a tuple. Where none can stand, before `}}`, `%}`, `)` or the name `end`,
  // the tuple is over: an error if it has no element, unless it `may_be_empty`.
  absl::StatusOr<ExpressionPtr> Tuple(bool conditional = true, absl::string_view end = "", bool may_be_empty = false);
  absl::StatusOr<ExpressionPtr> Filters(ExpressionPtr input, bool begins_with_name);  // name(...)|name...; a null input is a block's.

 private:
  using Kind = Expression::Kind;
  using Rule = absl::StatusOr<ExpressionPtr> (ExpressionParser::*)();

  ExpressionPtr Make(Kind kind, int line, std::vector<ExpressionPtr> operands = {});
  absl::StatusOr<ExpressionPtr> Built(ExpressionPtr made);  // Sets its height, or it is too deep.
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
