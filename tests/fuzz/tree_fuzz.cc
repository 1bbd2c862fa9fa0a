// Trees, drafters and what decides over them: whatever model, texts and budgets are, no draft changes a text, and trees and memory
// keep within their bounds.
//
// An input's first byte says what is done. The next bytes spell a model, texts, budgets and nodes; or a list of drafters.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/speculation/replay.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fuzz/drafted_texts.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr int kGrown = 0, kDrafted = 1, kSpeculated = 2, kReplayed = 3, kListed = 4, kKinds = 5;

// A tree as its paths, each with the largest probability that was said of it.
using Paths = std::map<Text, float>;

int LeavesOf(const Paths& paths) {
  int leaves = 0;
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    const auto next = std::next(path);   // If any path goes on from this one, the next one does.
    const bool goes_on = next != paths.end() && next->first.size() > path->first.size() &&
                         std::equal(path->first.begin(), path->first.end(), next->first.begin());
    leaves += goes_on ? 0 : 1;
  }
  return std::max(leaves, 1);
}

void CheckShape(const TokenTree& tree, const Paths& paths) {
  CHECK_EQ(tree.size(), static_cast<int>(paths.size()) + 1);
  CHECK_EQ(tree.Leaves(), LeavesOf(paths));
  const std::vector<float> reached = tree.PathProbabilities();
  int depth = 0;
  for (int node = 1; node < tree.size(); ++node) {
    const Text path = tree.PathTo(node);
    CHECK_EQ(tree[node].depth, static_cast<int>(path.size()));
    CHECK_EQ(tree[node].probability, paths.at(path));
    float product = 1;
    for (auto end = path.begin(); end != path.end(); ++end) product *= paths.at(Text(path.begin(), end + 1));
    CHECK_EQ(reached[node], product);
    depth = std::max(depth, tree[node].depth);
  }
  CHECK_EQ(tree.Depth(), depth);
}

// What is picked has the same nodes, in its own order.
void CheckPicked(FuzzBytes& bytes, const SpelledModel& model, const TokenTree& tree, const Text& text) {
  std::vector<int> nodes = SpellSome(bytes, tree);
  if (bytes.Below(2) == 1) std::reverse(nodes.begin(), nodes.end());
  const TokenTree picked = tree.Pick(nodes);
  CheckTree(picked, model.vocabulary());
  CheckOrder(picked);
  CHECK_EQ(picked.size(), static_cast<int>(nodes.size()) + 1);
  for (const int node : nodes) {
    int place = TokenTree::kRoot;
    for (const TokenId token : tree.PathTo(node)) place = picked.Child(place, token);
    CHECK_NE(place, TokenTree::kNone);
    CHECK(picked[place].probability == tree[node].probability && picked[place].source == tree[node].source) << "node " << node;
  }
  VerifyAsPlain(picked, model, text, /*most=*/1 << 20);
}

// A tree grows node by node, beside a map of its paths.
void GrowTree(FuzzBytes bytes) {
  const SpelledModel model(bytes);
  const Text text = model.Prompt(bytes, 8);
  TokenTree tree(text.back());
  Paths paths;
  std::vector<Text> path_to(1);   // [node].
  for (int left = bytes.Below(48); left > 0; --left) {
    const TokenTree::Node node = SpellNode(bytes, model, text, tree);
    const Text path = Joined(path_to[node.parent], {node.token});
    const bool is_new = !paths.contains(path);
    const int size = tree.size(), added = tree.Add(node.parent, node.token, node.probability, node.source);
    CHECK_EQ(tree.Child(node.parent, node.token), added);
    CHECK_EQ(tree.size(), size + (is_new ? 1 : 0));
    if (is_new) path_to.push_back(path);
    CHECK(path_to[added] == path && tree.PathTo(added) == path) << "node " << added;
    paths[path] = std::max(paths[path], node.probability);
  }
  CheckTree(tree, model.vocabulary());
  CheckShape(tree, paths);
  VerifyAsPlain(tree, model, text, /*most=*/1 << 20);
  CheckPicked(bytes, model, tree, text);
}

std::string WriteTexts(FuzzBytes bytes) {
  DraftedTexts texts(bytes);
  texts.WriteAll();
  return texts.trees();
}

// What is known of a text's passes without a model.
std::string ReplayText(FuzzBytes bytes) {
  DraftedTexts texts(bytes);
  const SpelledModel& model = texts.model();
  const Text prompt = model.Prompt(bytes, 8);
  Text text = prompt;
  for (int left = bytes.Below(32); left > 0; --left) text.push_back(model.Next(text).token);
  const DraftBudget budget = SpellBudget(bytes);
  const auto replayed = Replay(texts.drafter(), prompt, absl::MakeConstSpan(text).subspan(prompt.size()), budget);
  CHECK(replayed.ok()) << replayed.status();
  CHECK_EQ(replayed->tokens, std::max<int64_t>(text.size() - prompt.size(), 1) - 1);
  CHECK(replayed->passes <= replayed->tokens && (replayed->passes > 0 || replayed->tokens == 0)) << replayed->passes << " passes";
  CHECK_GE(replayed->rows, replayed->passes);
  CHECK_LE(replayed->rows, replayed->passes * (1 + budget.max_nodes));
  return std::to_string(replayed->passes) + " " + std::to_string(replayed->rows);
}

double SpellSeconds(FuzzBytes& bytes, double unit) { return unit * (1 + bytes.Below(64)); }

// Costs of passes with few rows and many, of logits, of leaves and of every drafter.
CostProfile SpellCosts(FuzzBytes& bytes) {
  CostProfile costs;
  const auto often = [](auto add) { for (int i = 0; i < 3; ++i) add(); };   // Once may be chance.
  for (const int rows : {1, 4, 16}) {
    const double pass = SpellSeconds(bytes, 1e-3), head = SpellSeconds(bytes, 1e-4);
    often([&] { costs.AddPass({.rows = rows}, pass); });
    often([&] { costs.AddHead(rows, head); });
  }
  const double leaves = SpellSeconds(bytes, 1e-3);
  often([&] { costs.AddPass({.rows = 4, .leaves = 3}, leaves); });
  costs.AddTop(1, SpellSeconds(bytes, 1e-5));
  for (const std::string& name : DrafterRegistry::BuiltIn().Names()) costs.AddDraft(name, SpellSeconds(bytes, 1e-5));
  costs.Freeze();
  return costs;
}

// Texts with a speculator, as in a stream of the engine, with times that the input spells.
class SpeculatedTexts {
 public:
  explicit SpeculatedTexts(FuzzBytes& bytes)
      : bytes_(bytes), model_(bytes), context_(SpellContext(bytes)), list_(kDrafterLists[bytes.Below(8)]),
        costs_(SpellCosts(bytes)), max_rows_(kRows[bytes.Below(8)]), weigh_(bytes.Below(3) < 2),
        speculator_(*DrafterRegistry::BuiltIn().Make(list_, size()), {.max_rows = max_rows_, .weigh_costs = weigh_, .costs = &costs_}) {}

  void WriteAll() {
    for (int left = 1 + bytes_.Below(3); left > 0; --left) {
      text_ = model_.Prompt(bytes_, context_ / 2);
      if (speculator_.needs().top_of_prompt > 0) LearnPrompt(speculator_.needs().top_of_prompt);
      speculator_.Begin(text_);
      while (static_cast<int>(text_.size()) < context_ && Step()) {
      }
    }
    CheckReport();
  }

  const std::string& trees() const { return trees_; }

 private:
  static constexpr int kRows[] = {32, 1, 2, 3, 8, 17, 40, 64};

  DraftingSize size() const { return {.context = context_, .vocabulary = model_.vocabulary()}; }

  // In two parts, which need not fit together.
  void LearnPrompt(int most) {
    int first = bytes_.Below(static_cast<int>(text_.size()));
    for (int parts = 0; parts < 2; ++parts) {
      std::vector<TopTokens> top(bytes_.Below(static_cast<int>(text_.size()) - first + 1));
      for (size_t i = 0; i < top.size(); ++i) {
        if (bytes_.Below(8) < 7) top[i] = TopTokensOf(model_.LogitsAfter(absl::MakeConstSpan(text_).first(first + i + 1)), most);
      }
      first += static_cast<int>(top.size());
      speculator_.LearnPrompt(bytes_.Below(8) < 7 ? first - static_cast<int>(top.size()) : 0, std::move(top));
    }
  }

  bool Step() {
    const TreeRoom room = {.rows = kRows[bytes_.Below(8)], .depth = context_ - static_cast<int>(text_.size()) - 1};
    const TokenTree tree = speculator_.Propose(room);
    const DraftBudget budget = {.max_nodes = std::min(room.rows, max_rows_) - 1, .max_depth = room.depth};
    CheckProposal(tree, TokenTree(text_.back()), budget, model_.vocabulary());
    CheckOrder(tree);
    AppendTree(tree, trees_);
    const LogitsPlan plan = speculator_.logits_plan();
    CHECK(plan.first_rows >= 1 && plan.first_rows <= std::min(tree.size(), LogitsPlan::kMostFirst)) << plan.first_rows;
    Verdict verdict = VerifyAsPlain(tree, model_, text_, context_);
    AddTop(tree, model_, text_, plan.first_rows, plan.top, verdict);
    const bool ended = model_.Next(Joined(text_, absl::MakeConstSpan(verdict.emitted).first(verdict.emitted.size() - 1))).last;
    const auto later = [&](int node) { return node >= plan.first_rows; };
    const int later_rows = static_cast<int>(std::count_if(verdict.path.begin(), verdict.path.end(), later));
    const double pass_seconds = SpellSeconds(bytes_, 1e-3), first_seconds = SpellSeconds(bytes_, 1e-4);
    const StepTime time = {pass_seconds, plan.first_rows, first_seconds, later_rows, later_rows * 1e-4, plan.first_rows, 1e-5};
    LearnStep(ShapeOf(tree), time, speculator_.costs());
    speculator_.Commit(tree, verdict, time);
    text_ = Joined(std::move(text_), verdict.emitted);
    tokens_ += static_cast<int64_t>(verdict.emitted.size());
    rows_ += tree.size();
    CHECK_LE(speculator_.bytes(), (*DrafterRegistry::BuiltIn().MostBytes(list_))(size()) + kObjects);
    return !ended;
  }

  void CheckReport() const {
    const SpeculationReport report = speculator_.report();
    CHECK_EQ(report.tokens, tokens_);
    CHECK_EQ(report.rows, rows_);
    CHECK(report.steps <= tokens_ && report.drafted_steps <= report.steps && report.paused_steps <= report.steps);
    CHECK(report.Gain().value_or(1) > 0 && report.PredictedGain() > 0) << *report.Gain() << ", " << report.PredictedGain() << " expected";
    for (const SpeculationReport::Source& source : report.sources) {
      const DraftAccount& account = source.account;
      CHECK(account.accepted <= account.verified && account.verified <= account.proposed) << source.name;
      CHECK_LE(source.paused_steps, report.steps);
    }
  }

  // Memory of the drafters and of the mixer that weighs them. It does not depend on their number alone, and the registry's bound leaves it
  // out.
  static constexpr int64_t kObjects = sizeof(Speculator) + (int64_t{16} << 10);

  FuzzBytes& bytes_;
  const SpelledModel model_;
  const int context_;
  const char* const list_;
  CostProfile costs_;
  const int max_rows_;
  const bool weigh_;
  Speculator speculator_;
  Text text_;
  std::string trees_;
  int64_t tokens_ = 0, rows_ = 0;
};

std::string SpeculateTexts(FuzzBytes bytes) {
  SpeculatedTexts texts(bytes);
  texts.WriteAll();
  return texts.trees();
}

// A list that is taken is of drafters there are, each once, in its order.
absl::Status UseList(const std::string& list) {
  const DraftingSize size = {.context = 8, .vocabulary = 4};
  const DrafterRegistry registry = DrafterRegistry::BuiltIn();
  const auto names = registry.Parse(list);
  const auto drafters = registry.Make(list, size);
  CHECK(names.status() == drafters.status() && names.status() == registry.MostBytes(list).status()) << names.status();
  if (!names.ok()) {
    CHECK(absl::IsInvalidArgument(names.status())) << names.status();
    CHECK(absl::StartsWith(names.status().message(), "drafter: found ")) << names.status();
    return names.status();
  }
  CHECK_EQ(names->size(), drafters->size());
  for (size_t i = 0; i < names->size(); ++i) CHECK_EQ((*drafters)[i]->name(), (*names)[i]);
  CHECK_EQ(std::set<std::string>(names->begin(), names->end()).size(), names->size());
  return absl::OkStatus();
}

FuzzSeed SeedOf(const std::string& name, int kind, const std::string& bytes) {
  return {name, std::string(1, static_cast<char>(kind)) + bytes};
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  FuzzBytes bytes(input);
  const int kind = bytes.Below(kKinds);
  if (kind == kListed) return UseList(bytes.Rest());
  if (kind == kGrown) {
    GrowTree(bytes);
    return absl::OkStatus();
  }
  const auto run = kind == kDrafted ? WriteTexts : kind == kSpeculated ? SpeculateTexts : ReplayText;
  const std::string trees = run(bytes);
  if (input.size() % 4 == 0) CHECK(run(bytes) == trees) << "the same bytes drafted other trees";
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  // Vocabulary, end token, steadiness and opinions.
  const std::string models[] = {std::string("\7\0\0\5\1\2\3\4\5\6", 10), std::string("\3\3\2\7\1\102\203\304\5\106\207\310", 12),
                                std::string("\16\0\3\23", 4) + "a model of 20 tokens"};
  for (const std::string& model : models) {
    const std::string number = std::to_string(seeds.size());
    const std::string prompt_and_nodes("\4\1\2\3\1\2\3\47", 8);
    seeds.push_back(SeedOf("grown_" + number, kGrown, model + prompt_and_nodes + "nodes below nodes, of probabilities"));
    for (int which = 0; which < 10; ++which) {  // Context, history, drafters; then texts of which the rest is zeros.
      const std::string setting = {static_cast<char>(which % 4), static_cast<char>(which % 2), static_cast<char>(which)};
      const std::string name = "_" + number + "_" + std::to_string(which);
      const auto add = [&](const char* what, int kind, const std::string& rest) {
        seeds.push_back(SeedOf(what + name, kind, model + rest));
      };
      add("drafted", kDrafted, setting + "\2\6");
      add("changed", kDrafted, setting + "\2\6 budgets, and nodes that go or come \7\1\2\3\5\6\7");
      add("replayed", kReplayed, setting + std::string("\3\0\1\30", 4));
      add("speculated", kSpeculated, {setting[0], setting[2]});
      add("weighed", kSpeculated, std::string({setting[0], setting[2]}) + "costs of passes, and of all else");
    }
  }
  // Draft reuse: a draft of three nodes is wrong in the first alone, and the other two are drafted again by the next budgets.
  std::string reused("\3\0\5\0\2\0\1\3\0\0\0\2\2\0\11\0\0\0\0\0\0\0\0\0\0\0", 26);
  for (const char depth : {2, 3, 1}) reused += std::string("\0", 1) + depth + std::string("\0\0\0", 3);
  seeds.push_back(SeedOf("reused", kDrafted, models[0] + reused));
  for (const std::string& name : DrafterRegistry::BuiltIn().Names()) seeds.push_back(SeedOf("list_" + name, kListed, name + ",suffix"));
  for (const char* list : {"auto", "none", "", ",", "lookup,", "auto,lookup", "sufix", "a\xff\"\n"}) {
    seeds.push_back(SeedOf("list_" + std::to_string(seeds.size()), kListed, list));
  }
  return seeds;
}

}  // namespace tessera
