#include "tessera/model/text/jinja/internal/interpreter.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/loop.h"

namespace tessera::jinja {
namespace {

// A macro, or the body of a call.
class Macro : public Object {
 public:
  Macro(Interpreter& interpreter, const Statement& statement, FramePtr frame)
      : interpreter_(interpreter), statement_(statement), frame_(std::move(frame)) {}

  absl::string_view type() const override { return "macro"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Runtime&, Arguments arguments) override {
    return interpreter_.RunFunction(statement_, frame_, std::move(arguments));
  }
  absl::StatusOr<std::optional<Value>> Member(Runtime&, absl::string_view name) override {
    for (const absl::string_view known : {"arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller", "name"}) {
      if (name == known) return Fail("found the attribute ", Quoted(name), " of a macro, which is not supported");
    }
    return std::optional<Value>();
  }
  void Clear() override { frame_ = nullptr; }

 private:
  Interpreter& interpreter_;
  const Statement& statement_;
  FramePtr frame_;
};

std::optional<Value> TakeNamed(Arguments& arguments, absl::string_view name) {
  const auto found =
      std::find_if(arguments.named.begin(), arguments.named.end(), [&](const auto& each) { return each.first.bytes() == name; });
  if (found == arguments.named.end()) return std::nullopt;
  std::optional<Value> value = std::move(found->second);
  arguments.named.erase(found);
  return value;
}

}  // namespace

absl::StatusOr<FramePtr> Interpreter::NewFrame(const FramePtr& parent, const Scope& scope) {
  auto frame = std::make_shared<Frame>(Frame{parent, &scope, std::vector<std::optional<Value>>(scope.loads.size())});
  RETURN_IF_ERROR(Enter(*frame));
  return frame;
}

absl::Status Interpreter::Enter(Frame& frame) {
  RETURN_IF_ERROR(runtime_.Step(frame.slots.size() / 2));
  for (size_t i = 0; i < frame.slots.size(); ++i) {
    const Load& load = frame.scope->loads[i];
    if (load.kind == Load::Kind::kNothing) frame.slots[i].reset();
    else if (load.kind == Load::Kind::kOuter) frame.slots[i] = At(frame, load.outer);
    else if (load.kind == Load::Kind::kVariable) frame.slots[i] = Variable(frame.scope->names[i]);
  }
  return absl::OkStatus();
}

std::optional<Value>& Interpreter::At(Frame& frame, Slot slot) {
  Frame* at = &frame;
  for (int up = slot.up; up > 0; --up) at = at->parent.get();
  return at->slots[static_cast<size_t>(slot.index)];
}

std::optional<Value> Interpreter::Variable(absl::string_view name) const {
  for (const auto& [known, value] : variables_) {
    if (known == name) return value;
  }
  const FilterFunction function = FindFunction(name);
  if (function == nullptr) return std::nullopt;
  return Value::Of(std::make_shared<Function>(name, function, Value()));
}

absl::StatusOr<Text> Interpreter::Run() {
  Text out;
  ASSIGN_OR_RETURN(const FramePtr frame, NewFrame(nullptr, syntax_.body.scope));
  RETURN_IF_ERROR(Run(syntax_.body, frame, out).status());
  return out;
}

absl::StatusOr<Interpreter::Flow> Interpreter::Run(const Body& body, const FramePtr& frame, Text& out) {
  const Runtime::Level level(runtime_);
  RETURN_IF_ERROR(level.Check());
  for (const Statement& statement : body.statements) {
    absl::StatusOr<Flow> flow = Run(statement, frame, out);
    if (!flow.ok()) return AtLine(statement.line, flow.status());
    if (*flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

absl::Status Interpreter::Put(const Text& text, Text& out) {
  RETURN_IF_ERROR(runtime_.Bytes(text.held_bytes()));
  out.Append(text);
  const int64_t most = runtime_.options().max_output_bytes;
  if (static_cast<int64_t>(out.size()) <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("found a template that writes more than ", most, " bytes, expected at most so many"));
}

absl::StatusOr<Interpreter::Flow> Interpreter::Run(const Statement& statement, const FramePtr& frame, Text& out) {
  RETURN_IF_ERROR(runtime_.Step());
  switch (statement.kind) {
    case Statement::Kind::kText: RETURN_IF_ERROR(Put(Text(statement.text, /*from_data=*/false), out)); return Flow::kOn;
    case Statement::Kind::kPrint: {
      ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.expression, frame));
      ASSIGN_OR_RETURN(const Text text, runtime_.Print(value));
      RETURN_IF_ERROR(Put(text, out));
      return Flow::kOn;
    }
    case Statement::Kind::kSet: {
      ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.expression, frame));
      RETURN_IF_ERROR(Assign(statement.target, value, frame));
      return Flow::kOn;
    }
    case Statement::Kind::kIf: return If(statement, frame, out);
    case Statement::Kind::kFor: return For(statement, frame, out);
    case Statement::Kind::kMacro: {
      ASSIGN_OR_RETURN(At(*frame, statement.slot), runtime_.Own(std::make_shared<Macro>(*this, statement, frame)));
      return Flow::kOn;
    }
    case Statement::Kind::kCall: RETURN_IF_ERROR(CallBlock(statement, frame, out)); return Flow::kOn;
    case Statement::Kind::kBreak: return Flow::kBreak;
    case Statement::Kind::kContinue: return Flow::kContinue;
    default: return InFrame(statement, frame, out);
  }
}

// Runs a body with a separate frame. The body's text may go through a filter, or into a variable.
absl::StatusOr<Interpreter::Flow> Interpreter::InFrame(const Statement& statement, const FramePtr& frame, Text& out) {
  std::vector<Value> values;
  if (statement.kind == Statement::Kind::kWith) {
    ASSIGN_OR_RETURN(values, All(statement.values, frame));
  }
  ASSIGN_OR_RETURN(const FramePtr inner, NewFrame(frame, statement.body.scope));
  for (size_t i = 0; i < values.size(); ++i) RETURN_IF_ERROR(Assign(statement.parameters[i], values[i], inner));
  const bool apart = statement.kind == Statement::Kind::kSetBlock || statement.kind == Statement::Kind::kFilter;
  Text text;
  ASSIGN_OR_RETURN(const Flow flow, Run(statement.body, inner, apart ? text : out));
  if (!apart || flow != Flow::kOn) return flow;
  ASSIGN_OR_RETURN(const Value value, Filtered(statement.expression.get(), std::move(text), inner));
  if (statement.kind == Statement::Kind::kSetBlock) {
    RETURN_IF_ERROR(Assign(statement.target, value, frame));
  } else {
    ASSIGN_OR_RETURN(const Text printed, runtime_.Print(value));
    RETURN_IF_ERROR(Put(printed, out));
  }
  return Flow::kOn;
}

absl::Status Interpreter::Assign(const Target& target, const Value& value, const FramePtr& frame) {
  if (target.kind == Target::Kind::kName) {
    At(*frame, target.slot) = value;
    return absl::OkStatus();
  }
  if (target.kind == Target::Kind::kAttribute) {
    const std::optional<Value>& owner = At(*frame, target.slot);
    Namespace* const space =
        owner && owner->kind() == Value::Kind::kObject ? dynamic_cast<Namespace*>(&owner->object()) : nullptr;
    if (space == nullptr)
      return Fail("found an assignment to ", target.name, ".", target.attribute, ", expected a namespace before the point");
    space->Set(Value::Of(Text(target.attribute, false)), value);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime_.Elements(value));
  if (elements.size() != target.elements.size()) {
    return Fail("found ", elements.size(), " values for ", target.elements.size(), " names, expected as many");
  }
  for (size_t i = 0; i < elements.size(); ++i) RETURN_IF_ERROR(Assign(target.elements[i], elements[i], frame));
  return absl::OkStatus();
}

absl::StatusOr<Interpreter::Flow> Interpreter::If(const Statement& statement, const FramePtr& frame, Text& out) {
  for (size_t i = 0; i < statement.branches.size(); ++i) {
    if (i < statement.values.size()) {
      ASSIGN_OR_RETURN(const Value condition, Evaluate(*statement.values[i], frame));
      if (!Truth(condition)) continue;
    }
    return Run(statement.branches[i], frame, out);
  }
  return Flow::kOn;
}

absl::StatusOr<Interpreter::Flow> Interpreter::For(const Statement& statement, const FramePtr& frame, Text& out) {
  ASSIGN_OR_RETURN(const Value iterated, Evaluate(*statement.expression, frame));
  ASSIGN_OR_RETURN(std::vector<Value> elements, runtime_.Elements(iterated));
  Loop::Test test;
  if (statement.filter_test != nullptr) {
    test = [this, &statement, frame](const Value& element) -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(const FramePtr inner, NewFrame(frame, statement.test_scope));
      RETURN_IF_ERROR(Assign(statement.test_target, element, inner));
      ASSIGN_OR_RETURN(const Value passes, Evaluate(*statement.filter_test, inner));
      return Truth(passes);
    };
  }
  const auto loop = std::make_shared<Loop>(std::move(elements), std::move(test));
  ASSIGN_OR_RETURN(const Value variable, runtime_.Own(loop));
  ASSIGN_OR_RETURN(const FramePtr inner, NewFrame(frame, statement.body.scope));
  bool finished = false;  // As in Jinja: else runs unless one element's turn came to its end, without break or continue.
  while (true) {
    ASSIGN_OR_RETURN(const bool more, loop->Advance());
    if (!more) break;
    RETURN_IF_ERROR(Enter(*inner));
    RETURN_IF_ERROR(Assign(statement.target, loop->current(), inner));
    At(*inner, statement.loop_slot) = variable;
    ASSIGN_OR_RETURN(const Flow flow, Run(statement.body, inner, out));
    finished = finished || flow == Flow::kOn;
    if (flow == Flow::kBreak) break;
  }
  // As in Jinja: macros made in the loop see nothing of the frame afterwards.
  for (std::optional<Value>& slot : inner->slots) slot.reset();
  if (finished || statement.branches.empty()) return Flow::kOn;
  ASSIGN_OR_RETURN(const FramePtr otherwise, NewFrame(frame, statement.branches[0].scope));
  return Run(statement.branches[0], otherwise, out);
}

absl::Status Interpreter::CallBlock(const Statement& statement, const FramePtr& frame, Text& out) {
  ASSIGN_OR_RETURN(const Value caller, runtime_.Own(std::make_shared<Macro>(*this, statement, frame)));
  absl::StatusOr<Value> result = Call(*statement.expression, frame, caller);
  if (!result.ok()) return AtLine(statement.expression->line, result.status());
  ASSIGN_OR_RETURN(const Text text, runtime_.Print(*result));
  return Put(text, out);
}

absl::StatusOr<Value> Interpreter::RunFunction(const Statement& function, const FramePtr& outer, Arguments arguments) {
  const Runtime::Level level(runtime_, /*call=*/true);
  RETURN_IF_ERROR(level.Check());
  const std::string name = function.kind == Statement::Kind::kMacro ? function.text : "caller";
  ASSIGN_OR_RETURN(const FramePtr frame, NewFrame(outer, function.body.scope));
  const size_t count = function.parameters.size(), given = std::min(count, arguments.positional.size());
  RETURN_IF_ERROR(runtime_.Step(arguments.named.size() * (1 + (count - given) / 4)));
  for (size_t i = 0; i < count; ++i) {
    const Target& parameter = function.parameters[i];
    At(*frame, parameter.slot) = i < given ? std::move(arguments.positional[i]) : TakeNamed(arguments, parameter.name);
  }
  if (function.uses_caller) At(*frame, function.caller_slot) = TakeNamed(arguments, "caller").value_or(Value::Undefined("the caller"));
  const absl::string_view other = arguments.named.empty() ? "" : absl::string_view(arguments.named[0].first.bytes());
  if (!function.uses_named && !arguments.named.empty()) return Fail(name, ": found the argument ", Quoted(other));
  if (!function.uses_positional && arguments.positional.size() > count) {
    return Fail(name, ": found ", arguments.positional.size(), " arguments, expected at most ", count);
  }
  if (function.uses_named) {
    Mapping named;
    for (auto& [key, value] : arguments.named) named.Set(Value::Of(std::move(key)), std::move(value));
    ASSIGN_OR_RETURN(At(*frame, function.named_slot), runtime_.New(std::move(named)));
  }
  if (function.uses_positional) {
    std::vector<Value> rest(arguments.positional.begin() + static_cast<int64_t>(given), arguments.positional.end());
    ASSIGN_OR_RETURN(At(*frame, function.positional_slot), runtime_.New(Items{Items::Form::kTuple, std::move(rest)}));
  }
  for (size_t i = 0; i < count; ++i) {
    std::optional<Value>& slot = At(*frame, function.parameters[i].slot);
    const size_t first_default = count - function.values.size();
    if (slot) continue;
    if (i < first_default) {
      slot = Value::Undefined(absl::StrCat("the parameter ", function.parameters[i].name, " of ", name));
    } else {
      ASSIGN_OR_RETURN(slot, Evaluate(*function.values[i - first_default], frame));
    }
  }
  Text text;
  RETURN_IF_ERROR(Run(function.body, frame, text).status());
  return runtime_.New(std::move(text));
}

}  // namespace tessera::jinja
