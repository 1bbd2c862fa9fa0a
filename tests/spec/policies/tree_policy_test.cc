#include "tessera/spec/policies/tree_policy.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/trees/verify.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/table_expander.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

TEST(TreePolicy, HeaderExample) {
  const CostProfile costs = Costs({0.01, 0.011, 0.012});
  const TokenId root = 0;
  const Verdict verdict = {.path = {0, 1}, .emitted = {1, 9}};
  TableExpander expander(RandomDistribution(1, 3));
  Must(expander.Begin({root}));
  const auto run = [&]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(std::unique_ptr<TreePolicy> policy, MakeTreePolicy("chain:tokens=8", {.profile = &costs}));
    DraftPool pool(root, expander, {});
    ASSIGN_OR_RETURN(const std::vector<int> nodes, policy->Grow({.max_nodes = 31}, pool));
    const TokenTree tree = pool.tree().Pick(nodes);
    policy->Learn(pool.Follow(verdict.emitted));
    return tree.size();
  };
  EXPECT_EQ(Must(run()), 9);
}

// Any policy, on any draft: within the budget, a tree, and the same again.
TEST(TreePolicy, EveryRuleKeepsToItsBudgetAndRepeatsItself) {
  SeededRandom random(1);
  for (const std::string& name : TreePolicyNames()) {
    for (int trial = 0; trial < 20; ++trial) {
      const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0, 32));
      const DraftDistribution distribution = RandomDistribution(random.Next(), 1 + trial % 4);
      const DraftBudget budget = {.max_nodes = static_cast<int>(random.Below(40)), .max_depth = static_cast<int>(random.Below(9))};
      std::vector<int> first;
      for (int time = 0; time < 2; ++time) {
        TableExpander expander(distribution, {.pass = 1e-4, .row = 1e-5, .most_rows = 1 + trial});
        Must(expander.Begin({0}));
        DraftPool pool(0, expander, {});
        const auto policy = Must(MakeTreePolicy(name, {.profile = &costs, .io_seconds = trial % 3 == 0 ? 0.05 : 0}));
        EXPECT_EQ(policy->name(), name);
        const std::vector<int> nodes = Must(policy->Grow(budget, pool));
        const TokenTree tree = pool.tree().Pick(nodes);   // Fails for what is no tree.
        EXPECT_LE(tree.size() - 1, budget.max_nodes) << name;
        EXPECT_LE(tree.Depth(), budget.max_depth) << name;
        if (time == 0) first = nodes;
        EXPECT_EQ(nodes, first) << name;
      }
    }
  }
}

TEST(TreePolicy, KeysAreRead) {
  const auto grown = [](absl::string_view text) {
    TableExpander expander(RandomDistribution(2, 4));
    Must(expander.Begin({0}));
    const auto policy = Must(MakeTreePolicy(text, {}));
    DraftPool pool(0, expander, {.candidates = policy->candidates()});
    return pool.tree().Pick(Must(policy->Grow({.max_nodes = 100, .max_depth = 20}, pool)));
  };
  EXPECT_EQ(grown("chain").size(), 9);
  EXPECT_EQ(grown("chain:tokens=3").size(), 4);
  EXPECT_EQ(grown("chain:tokens=3,least=1").size(), 1);
  EXPECT_EQ(grown("specinfer:widths=3x2").size(), 1 + 3 + 6);
  EXPECT_EQ(grown("specinfer").size(), 1 + 1 + 1 + 3 * 6);
  EXPECT_EQ(grown("eagle2:width=2,depth=1,nodes=5").size(), 6);
  EXPECT_EQ(grown("opt_tree:nodes=4,threshold=0").size(), 5);
  EXPECT_LT(grown("edgellm:threshold=0.5").size(), grown("edgellm:threshold=0.05").size());
}

TEST(TreePolicy, AWrongPolicyIsNamed) {
  const auto refusal = [](absl::string_view text) { return std::string(MakeTreePolicy(text, {}).status().message()); };
  EXPECT_EQ(refusal("leve"),
            "tree: found \"leve\", expected one of lever, chain, edgellm, specinfer, opt_tree, eagle2, sequoia; did you mean lever?");
  EXPECT_EQ(refusal(""), "tree: found \"\", expected one of lever, chain, edgellm, specinfer, opt_tree, eagle2, sequoia");
  EXPECT_EQ(refusal("chain:"), "tree: found \"chain:\", expected KEY=VALUE after the colon");
  EXPECT_EQ(refusal("chain:8"), "tree: found \"8\", expected KEY=VALUE");
  EXPECT_EQ(refusal("chain:token=8"), "tree: found chain:token, expected one of tokens, least; did you mean tokens?");
  EXPECT_EQ(refusal("chain:tokens=0"), "tree: found chain:tokens=0, expected 1 to 255");
  EXPECT_EQ(refusal("chain:tokens=8,tokens=9"), "tree: found chain:tokens twice, expected it once");
  EXPECT_EQ(refusal("chain:least=nan"), "tree: found chain:least=nan, expected 0 to 1");
  EXPECT_EQ(refusal("edgellm:threshold=0"), "tree: found edgellm:threshold=0, expected more than 0, at most 1");
  EXPECT_EQ(refusal("specinfer:widths=2x"),
            "tree: found specinfer:widths=2x, expected 1 to 63 numbers from 1 to 64 with x between");
  EXPECT_EQ(refusal("lever:blocks=2"), "tree: found lever:blocks=2, expected 0 to 1");
  EXPECT_FALSE(MakeTreePolicy("lever", {.io_seconds = -1}).ok());
  for (const char* const good : {"lever:blocks=0,optimistic=1", "sequoia:nodes=8,depth=2,branches=2", "opt_tree:depth=3"}) {
    EXPECT_TRUE(MakeTreePolicy(good, {}).ok()) << good;
  }
}

}  // namespace
}  // namespace tessera
