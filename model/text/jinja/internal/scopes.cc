#include "tessera/model/text/jinja/internal/scopes.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {
namespace {

constexpr int64_t kMaxWork = int64_t{1} << 23;  // Names copied for the branches of `if`.

struct Symbol {
  int index;
  Load load;
  bool stored = false;
};

// The names of one frame. Each branch of an `if` has a copy with the branch's knowledge; all copies share the numbers of slots.
struct Symbols {
  Symbols* parent;
  Scope* scope;
  absl::flat_hash_map<std::string, Symbol> known = {};
  std::shared_ptr<absl::flat_hash_map<std::string, int>> numbers = std::make_shared<absl::flat_hash_map<std::string, int>>();

  int Number(const std::string& name) {
    const auto [found, is_new] = numbers->try_emplace(name, static_cast<int>(scope->names.size()));
    if (is_new) scope->names.push_back(name);
    return found->second;
  }
  std::optional<Slot> Find(const std::string& name) const {
    int up = 0;
    for (const Symbols* at = this; at != nullptr; at = at->parent, ++up) {
      if (const auto found = at->known.find(name); found != at->known.end()) return Slot{up, found->second.index};
    }
    return std::nullopt;
  }
  Load OuterOr(const std::string& name, Load::Kind otherwise) const {
    const std::optional<Slot> outer = parent == nullptr ? std::nullopt : parent->Find(name);
    return outer ? Load{Load::Kind::kOuter, {outer->up + 1, outer->index}} : Load{otherwise};
  }
  void Define(const std::string& name, Load load, bool stored) { known[name] = {Number(name), load, stored}; }
  void Read(const std::string& name) {
    if (!Find(name)) Define(name, {Load::Kind::kVariable}, false);
  }
  void Store(const std::string& name) {
    const auto found = known.find(name);
    if (found != known.end()) found->second.stored = true;
    else Define(name, OuterOr(name, Load::Kind::kNothing), true);
  }
  void StoreGiven(const std::string& name) { Define(name, {Load::Kind::kGiven}, true); }
  // A variable that only some branches assign starts with the value from outside.
  void Merge(const std::vector<Symbols>& branches) {
    absl::flat_hash_map<std::string, size_t> stores;
    for (const Symbols& branch : branches) {
      for (const auto& [name, symbol] : branch.known) {
        const auto mine = known.find(name);
        if (symbol.stored && (mine == known.end() || !mine->second.stored)) ++stores[name];
      }
    }
    for (const Symbols& branch : branches) {
      for (const auto& [name, symbol] : branch.known) {
        const bool stored = symbol.stored || (known.contains(name) && known[name].stored);
        known[name] = {symbol.index, symbol.load, stored};
      }
    }
    for (const auto& [name, count] : stores) {
      if (count < branches.size()) known[name].load = OuterOr(name, Load::Kind::kVariable);
    }
  }
  void Finish() {
    scope->loads.assign(scope->names.size(), Load{});  // The names stay: each has its number.
    for (const auto& [name, symbol] : known) scope->loads[static_cast<size_t>(symbol.index)] = symbol.load;
  }
};

// Walks each frame twice: the first walk finds the frame's names; the second gives slots to the uses of names, and enters the frames
// within.
class Resolver {
 public:
  absl::Status Run(Syntax& syntax) {
    Symbols root{nullptr, &syntax.body.scope};
    RETURN_IF_ERROR(Frame(root, syntax.body, /*add_given=*/[](Symbols&) {}));
    syntax.names.assign(names_.begin(), names_.end());
    may_read_.insert(names_.begin(), names_.end());
    syntax.may_read.assign(may_read_.begin(), may_read_.end());
    return absl::OkStatus();
  }

 private:
  template <typename AddGiven>
  absl::Status Frame(Symbols& symbols, Body& body, const AddGiven& add_given) {
    add_given(symbols);
    for (Statement& statement : body.statements) FindNames(symbols, statement);
    if (work_ > kMaxWork) return absl::ResourceExhaustedError("found a template with too many names and branches");
    Finish(symbols);
    const bool outer_if = std::exchange(within_if_, false);
    for (Statement& statement : body.statements) RETURN_IF_ERROR(Place(symbols, statement));
    within_if_ = outer_if;
    return absl::OkStatus();
  }
  void Finish(Symbols& symbols) {
    symbols.Finish();
    for (const auto& [name, symbol] : symbols.known) {
      if (symbol.load.kind == Load::Kind::kVariable) may_read_.insert(name);
    }
  }
  absl::Status Inner(Symbols& outer, Body& body) {
    Symbols symbols{&outer, &body.scope};
    return Frame(symbols, body, [](Symbols&) {});
  }

  // --- The first walk: names that an expression reads, in order.
  void FindNames(Symbols& symbols, const ExpressionPtr& expression) {
    if (expression == nullptr) return;
    if (expression->kind == Expression::Kind::kName) {
      if (!symbols.Find(expression->name)) names_.insert(expression->name);
      symbols.Read(expression->name);
    }
    EachPart(*expression, [&](ExpressionPtr& part) { FindNames(symbols, part); });
  }
  template <typename Visit>
  static void EachPart(Expression& expression, const Visit& visit) {
    for (ExpressionPtr& operand : expression.operands) visit(operand);
    for (ExpressionPtr& argument : expression.arguments.positional) visit(argument);
    for (auto& [name, argument] : expression.arguments.named) visit(argument);
    visit(expression.arguments.more_positional);
    visit(expression.arguments.more_named);
  }
  void FindNames(Symbols& symbols, const Target& target, bool given = false) {
    if (target.kind == Target::Kind::kAttribute) symbols.Read(target.name);
    else if (target.kind == Target::Kind::kName) given ? symbols.StoreGiven(target.name) : symbols.Store(target.name);
    for (const Target& element : target.elements) FindNames(symbols, element, given);
  }
  void FindNames(Symbols& symbols, Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kMacro: return symbols.Store(statement.text);
      case Statement::Kind::kIf: return FindNamesOfBranches(symbols, statement);
      case Statement::Kind::kSetBlock: return FindNames(symbols, statement.target);
      case Statement::Kind::kSet: FindNames(symbols, statement.expression); return FindNames(symbols, statement.target);
      case Statement::Kind::kWith:
        for (const ExpressionPtr& value : statement.values) FindNames(symbols, value);
        return;
      case Statement::Kind::kFilter: return FindNames(symbols, statement.expression);
      default: return FindNames(symbols, statement.expression);
    }
  }
  // As in Jinja: one branch for the first condition, one for all `elif`, one for `else`.
  void FindNamesOfBranches(Symbols& symbols, Statement& statement) {
    FindNames(symbols, statement.values[0]);
    std::vector<Symbols> branches(3, symbols);
    work_ += 3 * static_cast<int64_t>(symbols.known.size());
    if (work_ > kMaxWork) return;
    FindNamesOfBody(branches[0], statement.branches[0]);
    const size_t conditions = statement.values.size();
    for (size_t i = 1; i < conditions; ++i) FindNamesOfElif(branches[1], statement, i);
    if (statement.branches.size() > conditions) FindNamesOfBody(branches[2], statement.branches.back());
    symbols.Merge(branches);
  }
  void FindNamesOfElif(Symbols& symbols, Statement& statement, size_t i) {
    FindNames(symbols, statement.values[i]);
    std::vector<Symbols> branches(3, symbols);
    work_ += 3 * static_cast<int64_t>(symbols.known.size());
    if (work_ > kMaxWork) return;
    FindNamesOfBody(branches[0], statement.branches[i]);
    symbols.Merge(branches);
  }
  void FindNamesOfBody(Symbols& symbols, Body& body) {
    for (Statement& statement : body.statements) FindNames(symbols, statement);
  }

  // --- The second walk.
  absl::Status Place(Symbols& symbols, const ExpressionPtr& expression) {
    if (expression == nullptr) return absl::OkStatus();
    if (expression->kind == Expression::Kind::kName) expression->slot = SlotOf(symbols, expression->name);
    const bool unknown = (expression->kind == Expression::Kind::kFilter && expression->filter == nullptr) ||
                         (expression->kind == Expression::Kind::kTest && expression->test == nullptr);
    if (unknown && !within_if_) return AtLine(expression->line, UnknownName(*expression));
    const bool outer_if = within_if_;
    within_if_ = within_if_ || expression->kind == Expression::Kind::kConditional;
    absl::Status status;
    EachPart(*expression, [&](ExpressionPtr& part) {
      if (status.ok()) status = Place(symbols, part);
    });
    within_if_ = outer_if;
    return status;
  }
  static Slot SlotOf(Symbols& symbols, const std::string& name) {
    const std::optional<Slot> slot = symbols.Find(name);
    if (slot) return *slot;
    symbols.Read(name);  // Only names that Jinja does not visit first, such as a filter's arguments of {% set %}.
    const Symbol& added = symbols.known.at(name);
    symbols.scope->loads.resize(symbols.scope->names.size());
    symbols.scope->loads[static_cast<size_t>(added.index)] = added.load;
    return *symbols.Find(name);
  }
  static void Place(Symbols& symbols, Target& target) {
    if (target.kind != Target::Kind::kTuple) target.slot = SlotOf(symbols, target.name);
    for (Target& element : target.elements) Place(symbols, element);
  }
  absl::Status Place(Symbols& symbols, Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kIf: return PlaceIf(symbols, statement);
      case Statement::Kind::kFor: return PlaceFor(symbols, statement);
      case Statement::Kind::kMacro: statement.slot = SlotOf(symbols, statement.text); return PlaceFunction(symbols, statement);
      case Statement::Kind::kCall:
        RETURN_IF_ERROR(Place(symbols, statement.expression));
        return PlaceFunction(symbols, statement);
      case Statement::Kind::kWith: return PlaceWith(symbols, statement);
      case Statement::Kind::kSetBlock:
      case Statement::Kind::kFilter: return PlaceFiltered(symbols, statement);
      case Statement::Kind::kGeneration: return Inner(symbols, statement.body);
      default:
        RETURN_IF_ERROR(Place(symbols, statement.expression));
        if (statement.kind == Statement::Kind::kSet) Place(symbols, statement.target);
        return absl::OkStatus();
    }
  }
  absl::Status PlaceIf(Symbols& symbols, Statement& statement) {
    const bool outer_if = within_if_;
    for (size_t i = 0; i < statement.branches.size(); ++i) {
      within_if_ = true;
      if (i < statement.values.size()) RETURN_IF_ERROR(Place(symbols, statement.values[i]));
      for (Statement& inner : statement.branches[i].statements) RETURN_IF_ERROR(Place(symbols, inner));
    }
    within_if_ = outer_if;
    return absl::OkStatus();
  }
  absl::Status PlaceFor(Symbols& symbols, Statement& statement) {
    RETURN_IF_ERROR(Place(symbols, statement.expression));
    Symbols test{&symbols, &statement.test_scope};
    FindNames(test, statement.target, /*given=*/true);
    FindNames(test, statement.filter_test);
    Finish(test);
    statement.test_target = statement.target;
    Place(test, statement.test_target);
    const bool outer_if = std::exchange(within_if_, false);
    RETURN_IF_ERROR(Place(test, statement.filter_test));
    within_if_ = outer_if;
    Symbols body{&symbols, &statement.body.scope};
    RETURN_IF_ERROR(Frame(body, statement.body, [&](Symbols& inner) {
      inner.StoreGiven("loop");
      FindNames(inner, statement.target, /*given=*/true);
    }));
    Place(body, statement.target);
    statement.loop_slot = SlotOf(body, "loop");
    return statement.branches.empty() ? absl::OkStatus() : Inner(symbols, statement.branches[0]);
  }
  absl::Status PlaceFunction(Symbols& symbols, Statement& statement) {
    Symbols inner{&symbols, &statement.body.scope};
    RETURN_IF_ERROR(Frame(inner, statement.body, [&](Symbols& given) {
      for (const Target& parameter : statement.parameters) FindNames(given, parameter, /*given=*/true);
      for (const ExpressionPtr& value : statement.values) FindNames(given, value);
      if (statement.uses_caller) given.StoreGiven("caller");
      if (statement.uses_named) given.StoreGiven("kwargs");
      if (statement.uses_positional) given.StoreGiven("varargs");
    }));
    for (Target& parameter : statement.parameters) Place(inner, parameter);
    for (const ExpressionPtr& value : statement.values) RETURN_IF_ERROR(Place(inner, value));
    if (statement.uses_caller) statement.caller_slot = SlotOf(inner, "caller");
    if (statement.uses_named) statement.named_slot = SlotOf(inner, "kwargs");
    if (statement.uses_positional) statement.positional_slot = SlotOf(inner, "varargs");
    return absl::OkStatus();
  }
  absl::Status PlaceWith(Symbols& symbols, Statement& statement) {
    for (const ExpressionPtr& value : statement.values) RETURN_IF_ERROR(Place(symbols, value));
    Symbols inner{&symbols, &statement.body.scope};
    RETURN_IF_ERROR(Frame(inner, statement.body, [&](Symbols& given) {
      for (const Target& target : statement.parameters) FindNames(given, target, /*given=*/true);
    }));
    for (Target& target : statement.parameters) Place(inner, target);
    return absl::OkStatus();
  }
  // The body of {% set %} or {% filter %}; the filter sees the body's names.
  absl::Status PlaceFiltered(Symbols& symbols, Statement& statement) {
    Symbols inner{&symbols, &statement.body.scope};
    RETURN_IF_ERROR(Frame(inner, statement.body, [&](Symbols& given) { FindNames(given, statement.expression); }));
    RETURN_IF_ERROR(Place(inner, statement.expression));
    if (statement.kind == Statement::Kind::kSetBlock) Place(symbols, statement.target);
    return absl::OkStatus();
  }
  static absl::Status UnknownName(const Expression& expression) {
    const absl::string_view kind = expression.kind == Expression::Kind::kFilter ? "filter" : "test";
    return Fail("found the ", kind, " ", Quoted(expression.name), ", expected one that chat templates use");
  }

  bool within_if_ = false;           // Within an `if`, an unknown filter or test is an error only if reached.
  std::set<std::string> names_;      // Given variables.
  std::set<std::string> may_read_;   // names_, and names that are assigned in some branches, and read after them.
  int64_t work_ = 0;
};

}  // namespace

absl::Status ResolveNames(Syntax& syntax) { return Resolver().Run(syntax); }

}  // namespace tessera::jinja
