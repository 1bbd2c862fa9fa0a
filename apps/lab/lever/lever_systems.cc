#include "tessera/apps/lab/lever/lever_systems.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/spec/policies/tree_policy.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {
namespace {

constexpr int kMostRows = 65;   // A root, and the nodes of the largest published tree.
constexpr char kLever[] = "lever";

struct Known {
  const char* name;
  const char* tree = "";
  bool retrieval = false;
  bool pins_draft = false;
  bool chooses = false;
  bool prunes = false;
  bool shadow = true;
  bool safeguards = true;
};
constexpr Known kSystems[] = {{"flash_ar"},
                              {"chain", "chain:tokens=8"},
                              {"edgellm", "edgellm"},
                              {"specinfer", "specinfer"},
                              {"opt_tree", "opt_tree"},
                              {"sequoia", "sequoia"},
                              {"eagle2", "eagle2"},
                              {kLever, kLever},
                              {.name = "lever_pruned", .tree = kLever, .prunes = true},
                              {.name = "lever_pruned_no_shadow", .tree = kLever, .prunes = true, .shadow = false},
                              {.name = "lever_pruned_no_safeguards", .tree = kLever, .prunes = true, .safeguards = false},
                              {"retrieval", "", true},
                              {"lever_retrieval", kLever, true},
                              {"pinned", "", false, true},
                              {"pinned_retrieval", "", true, true},
                              {"auto", kLever, true, false, true}};

LeverSpec SpecOf(const Known& known) {
  return {.system = known.name, .variant = known.name, .tree = known.tree, .retrieval = known.retrieval, .pins_draft = known.pins_draft,
          .chooses = known.chooses, .prunes = known.prunes,
          .rule = {.with_shadow_tokens = known.shadow, .with_safeguards = known.safeguards}};
}

absl::StatusOr<std::vector<LeverSpec>> Chosen(const std::string& systems, bool prunes) {
  std::vector<LeverSpec> chosen;
  if (systems == "all") {
    for (const Known& known : kSystems) {
      if (!known.prunes || prunes) chosen.push_back(SpecOf(known));
    }
    return chosen;
  }
  for (const absl::string_view name : absl::StrSplit(systems, ',')) {
    const auto found = std::find_if(std::begin(kSystems), std::end(kSystems), [name](const Known& known) { return known.name == name; });
    const bool again = std::any_of(chosen.begin(), chosen.end(), [name](const LeverSpec& spec) { return spec.system == name; });
    if (found == std::end(kSystems) || again) {
      const std::string known = absl::StrJoin(kSystems, ", ", [](std::string* out, const Known& one) { absl::StrAppend(out, one.name); });
      return WrongUsage("systems", absl::StrCat(Quoted(name), again ? " twice" : ""), absl::StrCat("some of ", known, ", or all"));
    }
    chosen.push_back(SpecOf(*found));
  }
  return chosen;
}

// Shares the one expander among the systems' drafters, one sequence after another. Each sequence is read anew, though another system may
// have decoded the same sequence before. Otherwise only the first system would pay for a prompt, and the others would reuse the draft's
// cache.
class SharedExpander : public Expander {
 public:
  explicit SharedExpander(Expander& draft) : draft_(draft) {}

  absl::string_view name() const override { return draft_.name(); }
  absl::Status Begin(absl::Span<const TokenId> text) override {
    RETURN_IF_ERROR(draft_.Begin(text.first(1)));   // The draft keeps nothing for a single token.
    return draft_.Begin(text);
  }
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override {
    return draft_.Expand(tree, nodes, most);
  }
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override { return draft_.Commit(tree, emitted); }
  double Seconds(int rows) const override { return draft_.Seconds(rows); }
  int most_rows() const override { return draft_.most_rows(); }
  int64_t bytes() const override { return 0; }   // Counted once, with the draft.

 private:
  Expander& draft_;
};

}  // namespace

absl::StatusOr<std::vector<LeverSpec>> LeverSpecs(const std::string& systems, const std::string& sweep, bool prunes) {
  ASSIGN_OR_RETURN(const std::vector<LeverSpec> chosen, Chosen(systems, prunes));
  if (sweep.empty()) return chosen;
  std::vector<std::pair<std::string, std::string>> trees;   // By the system's name.
  for (const absl::string_view tree : absl::StrSplit(sweep, ';')) {
    const absl::StatusOr<std::unique_ptr<TreePolicy>> policy = MakeTreePolicy(tree, {});
    RETURN_IF_ERROR(ForField("sweep", policy.status()));
    const std::string name((*policy)->name());
    const auto swept = [&](const LeverSpec& spec) { return spec.system == name && !spec.tree.empty(); };
    if (std::none_of(chosen.begin(), chosen.end(), swept)) {
      return WrongUsage("sweep", Quoted(tree), "trees of systems that --systems has");
    }
    const auto same = [&](const auto& other) { return other.second == tree; };
    if (std::any_of(trees.begin(), trees.end(), same)) return WrongUsage("sweep", absl::StrCat(Quoted(tree), " twice"), "each tree once");
    trees.emplace_back(name, tree);
  }
  std::vector<LeverSpec> specs;
  for (const LeverSpec& spec : chosen) {
    const size_t before = specs.size();
    for (const auto& [name, tree] : trees) {
      if (name != spec.system) continue;
      specs.push_back(spec);
      specs.back().variant = specs.back().tree = tree;
    }
    if (specs.size() == before) specs.push_back(spec);
  }
  return specs;
}

void ResolveAuto(bool drafts, std::vector<LeverSpec>& specs) {
  for (LeverSpec& spec : specs) {
    if (!spec.chooses) continue;
    spec.tree = drafts ? kLever : "";
    spec.pins_draft = !drafts;
  }
}

absl::StatusOr<std::unique_ptr<LeverSystem>> LeverSystem::Create(const LeverSpec& spec, const Engine& target, Expander* draft,
                                                                 const ExitPredictor* predictor) {
  CHECK_EQ(spec.prunes, predictor != nullptr) << spec.variant;
  auto system = std::unique_ptr<LeverSystem>(new LeverSystem());
  if (!spec.drafts()) return system;
  std::vector<std::unique_ptr<Drafter>> drafters;
  if (spec.retrieval) {
    const DraftingSize size = {.context = target.context(), .vocabulary = target.config().vocabulary};
    ASSIGN_OR_RETURN(drafters, DrafterRegistry::BuiltIn().Make("auto", size));
  }
  if (spec.prunes) system->pruning_ = {.predictor = predictor, .rule = spec.rule, .weigh_costs = !spec.always_prunes};
  const Clock& clock = target.ClockOr(nullptr);
  bool by_cost = spec.retrieval;   // Other rules decide themselves how many rows are verified.
  if (!spec.tree.empty()) {
    CHECK(draft != nullptr) << spec.variant;
    ASSIGN_OR_RETURN(std::unique_ptr<TreePolicy> policy, MakeTreePolicy(spec.tree, {.profile = &system->costs_}));
    by_cost |= policy->name() == kLever;
    ExpandingDrafter::Options options;
    options.corrects = policy->name() == kLever;
    auto drafter = std::make_unique<ExpandingDrafter>(std::make_unique<SharedExpander>(*draft), std::move(policy), options);
    system->draft_ = drafter.get();
    drafters.push_back(std::move(drafter));
  }
  system->speculator_ = std::make_unique<Speculator>(
      std::move(drafters),
      Speculator::Options{.max_rows = kMostRows, .weigh_costs = by_cost, .costs = &system->costs_, .clock = &clock});
  return system;
}

const ReliabilityTable* LeverSystem::table() const { return draft_ == nullptr ? nullptr : &draft_->table(); }

}  // namespace tessera
