// Walks a template's syntax tree: evaluates expressions and runs statements.
//
//   Interpreter interpreter(syntax, variables, options);
//   ASSIGN_OR_RETURN(const Text text, interpreter.Run());
//
// One interpreter renders once. Frames hold the variables of a body; a macro keeps the frame that was current when the macro was made.
// Thread-compatible.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"
#include "tessera/model/text/jinja/internal/syntax.h"

namespace tessera::jinja {

// The variables of one running body. A slot without a value was not assigned yet.
struct Frame {
  std::shared_ptr<Frame> parent;
  const Scope* scope;
  std::vector<std::optional<Value>> slots;
};
using FramePtr = std::shared_ptr<Frame>;

class Interpreter {
 public:
  Interpreter(const Syntax& syntax, const Variables& variables, const RenderOptions& options)
      : syntax_(syntax), variables_(variables), runtime_(options) {}

  absl::StatusOr<Text> Run();

  // Runs a macro or a call's body, for Macro::Call.
  absl::StatusOr<Value> RunFunction(const Statement& function, const FramePtr& outer, Arguments arguments);

 private:
  enum class Flow { kOn, kBreak, kContinue };
  using Result = absl::StatusOr<Value>;

  // Frames and slots.
  absl::StatusOr<FramePtr> NewFrame(const FramePtr& parent, const Scope& scope);
  absl::Status Enter(Frame& frame);  // Gives each slot its first value.
  static std::optional<Value>& At(Frame& frame, Slot slot);
  std::optional<Value> Variable(absl::string_view name) const;

  // Expressions.
  Result Evaluate(const Expression& expression, const FramePtr& frame);
  Result EvaluateByKind(const Expression& expression, const FramePtr& frame);
  Result Name(const Expression& expression, const FramePtr& frame);
  Result Collection(const Expression& expression, const FramePtr& frame);
  Result Logical(const Expression& expression, const FramePtr& frame);
  Result Chain(const Expression& expression, const FramePtr& frame);
  Result Comparison(const Expression& expression, const FramePtr& frame);
  Result Conditional(const Expression& expression, const FramePtr& frame);
  Result SliceOf(const Expression& expression, const FramePtr& frame);
  Result Filter(const Expression& expression, const Value& input, const FramePtr& frame);
  Result Filtered(const Expression* filter, Text text, const FramePtr& frame);  // Passes a body's text through its filters.
  Result Test(const Expression& expression, const FramePtr& frame);
  Result Call(const Expression& expression, const FramePtr& frame, std::optional<Value> caller);
  absl::StatusOr<Arguments> ArgumentsOf(const CallArguments& arguments, const FramePtr& frame);
  absl::StatusOr<std::vector<Value>> All(const std::vector<ExpressionPtr>& expressions, const FramePtr& frame);

  // Statements.
  absl::StatusOr<Flow> Run(const Body& body, const FramePtr& frame, Text& out);
  absl::StatusOr<Flow> Run(const Statement& statement, const FramePtr& frame, Text& out);
  absl::Status Put(const Text& text, Text& out);
  absl::Status Assign(const Target& target, const Value& value, const FramePtr& frame);
  absl::StatusOr<Flow> If(const Statement& statement, const FramePtr& frame, Text& out);
  absl::StatusOr<Flow> For(const Statement& statement, const FramePtr& frame, Text& out);
  absl::StatusOr<Flow> InFrame(const Statement& statement, const FramePtr& frame, Text& out);
  absl::Status CallBlock(const Statement& statement, const FramePtr& frame, Text& out);

  const Syntax& syntax_;
  const Variables& variables_;
  Runtime runtime_;
};

}  // namespace tessera::jinja
