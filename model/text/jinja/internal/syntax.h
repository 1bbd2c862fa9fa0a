// A template's syntax tree: what the parser makes and the interpreter walks.
//
//   for (const Statement& statement : syntax.body.statements) ...
//
// Names are resolved before anything runs (scopes.h): a name is a slot of a frame. Chains such as a + b - c are one node with many
// operands, so only brackets and blocks make the tree deep; `height` is checked as it grows. Thread-compatible; constant once parsed.
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

// Where a name's value is: so many frames up, at this place.
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
  std::string name = {};                      // A name, an attribute, a filter or a test; the sign of a signed one.
  Slot slot = {};
  std::vector<ExpressionPtr> operands = {};   // Null: not given (bounds of a slice, the else of a condition). A dict: key, value, ...
  std::vector<std::string> operators = {};    // One between each two operands.
  CallArguments arguments = {};
  FilterFunction filter = nullptr;            // Null: unknown, an error where it is used.
  TestFunction test = nullptr;
};

// What values are assigned to.
struct Target {
  enum class Kind { kName, kAttribute, kTuple };
  Kind kind = Kind::kName;
  int line = 0;
  std::string name = {};
  std::string attribute = {};
  Slot slot = {};
  std::vector<Target> elements = {};
};

// How a slot begins when its frame is entered.
struct Load {
  enum class Kind { kNothing, kGiven, kVariable, kOuter };  // Given: a parameter. Variable: of those given to the template.
  Kind kind = Kind::kNothing;
  Slot outer = {};
};
struct Scope {
  std::vector<std::string> names = {};
  std::vector<Load> loads = {};
};

struct Statement;
struct Body {
  std::vector<Statement> statements;  // Without an initializer here, where the type is not complete yet.
  Scope scope = {};  // For a body that has a frame of its own.
};

struct Statement {
  enum class Kind { kText, kPrint, kSet, kSetBlock, kFor, kIf, kMacro, kCall, kFilter, kWith, kGeneration, kBreak, kContinue };
  Kind kind;
  int line;
  std::string text = {};                          // kText; a macro's name.
  ExpressionPtr expression = nullptr;             // What is printed, assigned, looped over, called; the filter of a block.
  Target target = {};
  std::vector<Target> parameters = {};            // A macro's or a call's; the targets of `with`.
  std::vector<ExpressionPtr> values = {};         // Defaults of the last parameters; the values of `with`; conditions of `if`.
  Body body = {};
  std::vector<Body> branches = {};                // kIf: one per condition, and one for else. kFor: for else.
  ExpressionPtr filter_test = nullptr;            // kFor: which elements are looped over; its frame has the target, too.
  Target test_target = {};
  Scope test_scope = {};
  Slot slot = {};                                 // kMacro: its own name.
  Slot loop_slot = {}, caller_slot = {}, named_slot = {}, positional_slot = {};  // Within the body's frame.
  bool uses_caller = false, uses_named = false, uses_positional = false;         // What a macro's body asks for: caller, kwargs, varargs.
};

struct Syntax {
  Body body = {};
  std::vector<std::string> names = {};  // Variables that are given to the template, in order.
  std::vector<std::string> may_read = {};   // Those, and names that the template assigns in some branches alone, in order.
};

}  // namespace tessera::jinja
