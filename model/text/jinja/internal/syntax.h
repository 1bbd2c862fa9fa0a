// A template's syntax tree: made by the parser, walked by the interpreter.
//
//   for (const Statement& statement : syntax.body.statements) ...
//
// Names are resolved before anything runs (scopes.h): a name is a slot of a frame. Chains such as a + b - c are one node with many
// operands, so only brackets and blocks make the tree deep. The parser checks `height` while the tree grows. Threads: thread-compatible;
// constant once parsed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/model/text/jinja/internal/library.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

// The place of a name's value: `up` frames up, at `index`.
struct Slot {
  int up = 0;
  int index = 0;
};

struct CallArguments {
  std::vector<ExpressionPtr> positional = {};
  std::vector<std::pair<std::string, ExpressionPtr>> named = {};
  ExpressionPtr more_positional = nullptr;  // *list
  ExpressionPtr more_named = nullptr;       // **dict
};

struct Expression {
  enum class Kind {
    kConstant, kName, kList, kTuple, kDict, kConcatenation, kAnd, kOr, kNot, kSigned, kArithmetic, kComparison, kConditional,
    kAttribute, kSubscript, kSlice, kCall, kFilter, kTest,
  };
  Kind kind;
  int line;
  int height = 1;
  Value constant = {};
  std::string name = {};                      // A name, an attribute, a filter or a test; the sign of a signed expression.
  Slot slot = {};
  std::vector<ExpressionPtr> operands = {};   // Null: absent (bounds of a slice, the else of a condition). A dict: key, value, ...
  std::vector<std::string> operators = {};    // One between each two operands.
  CallArguments arguments = {};
  FilterFunction filter = nullptr;            // Null: unknown, an error where the filter is used.
  TestFunction test = nullptr;
};

// The target of an assignment.
struct Target {
  enum class Kind { kName, kAttribute, kTuple };
  Kind kind = Kind::kName;
  int line = 0;
  std::string name = {};
  std::string attribute = {};
  Slot slot = {};
  std::vector<Target> elements = {};
};

// The first value of a slot when the slot's frame is entered.
struct Load {
  enum class Kind { kNothing, kGiven, kVariable, kOuter };  // Given: a parameter. Variable: one of the variables given to the template.
  Kind kind = Kind::kNothing;
  Slot outer = {};
};
struct Scope {
  std::vector<std::string> names = {};
  std::vector<Load> loads = {};
};

struct Statement;
struct Body {
  std::vector<Statement> statements;  // No initializer here, since the type is not complete yet.
  Scope scope = {};  // For a body with its own frame.
};

struct Statement {
  enum class Kind { kText, kPrint, kSet, kSetBlock, kFor, kIf, kMacro, kCall, kFilter, kWith, kGeneration, kBreak, kContinue };
  Kind kind;
  int line;
  std::string text = {};                          // kText; a macro's name.
  ExpressionPtr expression = nullptr;             // The printed, assigned, looped-over or called expression; the filter of a block.
  Target target = {};
  std::vector<Target> parameters = {};            // Parameters of a macro or a call; the targets of `with`.
  std::vector<ExpressionPtr> values = {};         // Defaults of the last parameters; the values of `with`; conditions of `if`.
  Body body = {};
  std::vector<Body> branches = {};                // kIf: one per condition, and one for else. kFor: for else.
  ExpressionPtr filter_test = nullptr;            // kFor: selects the elements to loop over. The test's frame has the target, too.
  Target test_target = {};
  Scope test_scope = {};
  Slot slot = {};                                 // kMacro: the macro's own name.
  Slot loop_slot = {}, caller_slot = {}, named_slot = {}, positional_slot = {};  // Within the body's frame.
  // Arguments that a macro's body reads: caller, kwargs, varargs.
  bool uses_caller = false, uses_named = false, uses_positional = false;
};

struct Syntax {
  Body body = {};
  std::vector<std::string> names = {};  // Variables given to the template, in order.
  std::vector<std::string> may_read = {};   // `names`, and names that the template assigns in some branches alone, in order.
};

}  // namespace tessera::jinja
