#include "tessera/spec/policies/prune_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/spec/policies/worked_tree.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

// Scores whose exponentials are these numbers.
CandidateSet SetOf(int node, std::vector<TokenId> tokens, const std::vector<float>& weights) {
  CandidateSet set = {.node = node, .tokens = std::move(tokens)};
  for (const float weight : weights) set.scores.push_back(std::log(weight));
  return set;
}

// By hand, in brackets r with shadow tokens, and without:
//
//   0 -+- 1: token 1 (8/16, 8/13) -- 4: token 3 (1/4, 1) -- 5: token 7 (9/10, 1)
//      |- 2: token 2 (4/16, 4/13) -- 6: token 5 (1/10, 1)
//      |- 3: token 9 (1/16, 1/13)
//      '- (token 8, 3/16)
struct Worked {
  Worked() {
    tree.Add(0, 1, 0.5f);
    tree.Add(0, 2, 0.4f);
    tree.Add(0, 9, 0.1f);
    tree.Add(1, 3, 0.5f);
    tree.Add(4, 7, 0.5f);
    tree.Add(2, 5, 0.5f);
  }
  TokenTree tree = TokenTree(0);
  const std::vector<CandidateSet> sets = {SetOf(0, {1, 2, 9, 8}, {8, 4, 1, 3}), SetOf(1, {3, 4}, {1, 3}), SetOf(4, {7, 6}, {9, 1}),
                                          SetOf(2, {6, 5}, {9, 1})};
  std::vector<int> Kept(const PruneOptions& options) const { return PruneTree(tree, sets, options); }
};

using Nodes = std::vector<int>;

Speculator WorkedSpeculator() {
  auto expander = std::make_unique<TableExpander>(WorkedDistribution());
  const ExpandingDrafter::Options options = {.candidates = 2};
  return Speculator(std::make_unique<ExpandingDrafter>(std::move(expander), Must(MakeTreePolicy("chain:tokens=2", {})), options),
                    {.weigh_costs = false});
}

TEST(PruneRule, HeaderExample) {
  Speculator speculator = WorkedSpeculator();
  speculator.Begin({0});
  const TokenTree tree = speculator.Propose({.rows = 8, .depth = 4});
  const auto run = [&]() -> absl::Status {
    PruneOptions options = {.threshold = 0.2f};
    RETURN_IF_ERROR(CheckPruneOptions(options));
    std::vector<CandidateSet> sets = speculator.Candidates(tree);
    for (CandidateSet& set : sets) set.scores.assign(set.tokens.size(), 0.0f);
    const std::vector<int> kept = PruneTree(tree, sets, options);
    EXPECT_EQ(kept, (Nodes{0, 1, 2}));
    return absl::OkStatus();
  };
  Must(run());
}

// The draft's candidates that have no node stand beside those that have one.
TEST(PruneRule, CandidatesAreAllThatTheDraftThoughtOf) {
  Speculator speculator = WorkedSpeculator();
  speculator.Begin({0});
  const TokenTree tree = speculator.Propose({.rows = 8, .depth = 4});
  ASSERT_EQ(tree.PathTo(2), (std::vector<TokenId>{1, 3}));
  const std::vector<CandidateSet> sets = speculator.Candidates(tree);
  ASSERT_EQ(sets.size(), 2u);   // The leaf has no edge that could go.
  EXPECT_EQ(sets[0].node, 0);
  EXPECT_EQ(sets[0].tokens, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(sets[1].node, 1);
  EXPECT_EQ(sets[1].tokens, (std::vector<TokenId>{3, 4}));
}

TEST(PruneRule, TheWorkedExample) {
  const Worked worked;
  const std::vector<float> values = EdgeValues(worked.tree, worked.sets, {});
  const std::vector<float> expected = {1, 8 / 16.0f, 4 / 16.0f, 1 / 16.0f, 1 / 4.0f, 9 / 10.0f, 1 / 10.0f};
  for (size_t node = 0; node < expected.size(); ++node) EXPECT_NEAR(values[node], expected[node], 1e-6) << node;
  // 5 keeps its ancestor 4, which is removable by itself; 2 is one of the two best of the root; 3 and 6 go.
  EXPECT_EQ(worked.Kept({.threshold = 0.3f}), (Nodes{0, 1, 2, 4, 5}));
  // The third child of the root stays, too; 6 is below no edge that anything keeps.
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .keep_near_root = 3}), (Nodes{0, 1, 2, 3, 4, 5}));
  // The backbone alone, whatever the threshold.
  EXPECT_EQ(worked.Kept({.threshold = 2, .keep_near_root = 0}), (Nodes{0, 1, 4, 5}));
  EXPECT_EQ(worked.Kept({.threshold = 0, .keep_near_root = 0}), (Nodes{0, 1, 2, 3, 4, 5, 6}));
}

TEST(PruneRule, WithoutShadowTokensAnOnlyChildStays) {
  const Worked worked;
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .with_shadow_tokens = false, .keep_near_root = 1}), (Nodes{0, 1, 2, 4, 5, 6}));
}

TEST(PruneRule, WithoutSafeguardsARemovableEdgeTakesItsWholeSubtree) {
  const Worked worked;
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .with_safeguards = false}), (Nodes{0, 1}));
  EXPECT_EQ(worked.Kept({.threshold = 0.2f, .with_safeguards = false}), (Nodes{0, 1, 2, 4, 5}));
  EXPECT_EQ(worked.Kept({.threshold = 2, .with_safeguards = false}), (Nodes{0}));
  // One safeguard off, the others on: the backbone stays all the same.
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .keep_ancestors = false, .keep_near_root = 1}), (Nodes{0, 1, 4, 5}));
}

// A high temperature makes all candidates alike: 1/4 at the root, 1/2 elsewhere.
TEST(PruneRule, TheTemperatureFlattens) {
  const Worked worked;
  const std::vector<float> values = EdgeValues(worked.tree, worked.sets, {.temperature = 1e6f});
  for (const int node : {1, 2, 3}) EXPECT_NEAR(values[node], 0.25, 1e-3);
  for (const int node : {4, 5, 6}) EXPECT_NEAR(values[node], 0.5, 1e-3);
}

TEST(PruneRule, TooLittleAndTooMuchAreRefused) {
  const Worked worked;
  const Nodes all = {0, 1, 2, 3, 4, 5, 6}, five = {0, 1, 2, 4, 5};   // Two leaves are left: 2 and 5.
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .least_rows_dropped = 2}), five);
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .least_rows_dropped = 3}), all);
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .least_rows_left = 5}), five);
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .least_rows_left = 6}), all);
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .least_leaves_left = 2}), five);
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .least_leaves_left = 3}), all);
  EXPECT_EQ(worked.Kept({.threshold = 0.3f, .with_safeguards = false, .least_rows_left = 6}), (Nodes{0, 1}));
}

// A broken predictor prunes nothing.
TEST(PruneRule, ScoresThatAreNoNumbersRemoveNothing) {
  for (const float bad : {NAN, HUGE_VALF, -HUGE_VALF}) {
    Worked worked;
    std::vector<CandidateSet> sets = worked.sets;
    for (CandidateSet& set : sets) set.scores.assign(set.scores.size(), bad);
    EXPECT_EQ(PruneTree(worked.tree, sets, {.threshold = 0.9f, .with_safeguards = false}).size(), 7u) << bad;
  }
}

std::vector<CandidateSet> RandomSets(const TokenTree& tree, SeededRandom& random) {
  std::vector<CandidateSet> sets;
  for (int node = 0; node < tree.size(); ++node) {
    CandidateSet set = {.node = node};
    for (int child = 1; child < tree.size(); ++child) {
      if (tree[child].parent == node) set.tokens.push_back(tree[child].token);
    }
    if (set.tokens.empty()) continue;
    for (int64_t more = random.Below(6); more > 0; --more) set.tokens.push_back(static_cast<TokenId>(10000 + more));
    for (size_t i = 0; i < set.tokens.size(); ++i) set.scores.push_back(random.Uniform(-3, 3));
    sets.push_back(std::move(set));
  }
  return sets;
}

bool Contains(const Nodes& nodes, int node) { return std::binary_search(nodes.begin(), nodes.end(), node); }

TEST(PruneRule, TheKeptNodesAreATreeWithItsBackbone) {
  SeededRandom random(5);
  for (int round = 0; round < 500; ++round) {
    const TokenTree tree = RandomTree(static_cast<int>(random.Below(25)), random);
    const std::vector<CandidateSet> sets = RandomSets(tree, random);
    const auto any = [&random](int count) { return static_cast<int>(random.Below(count)); };
    const PruneOptions options = {.threshold = random.Uniform(0, 1.1f),
                                  .temperature = random.Uniform(0.2f, 3),
                                  .with_shadow_tokens = any(2) == 0,
                                  .with_safeguards = any(3) > 0,
                                  .keep_ancestors = any(2) == 0,
                                  .keep_near_root = any(4),
                                  .least_rows_left = any(5),
                                  .least_leaves_left = any(3),
                                  .least_rows_dropped = any(4)};
    const Nodes kept = PruneTree(tree, sets, options);
    ASSERT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    ASSERT_EQ(kept[0], TokenTree::kRoot);
    for (const int node : kept) ASSERT_TRUE(node == TokenTree::kRoot || Contains(kept, tree[node].parent)) << round;
    const int dropped = tree.size() - static_cast<int>(kept.size());
    if (dropped == 0) continue;
    EXPECT_TRUE(MayPrune(tree, options)) << round;
    EXPECT_GE(dropped, options.least_rows_dropped);
    if (!options.with_safeguards) continue;
    EXPECT_GE(static_cast<int>(kept.size()), options.least_rows_left);
    const std::vector<float> values = EdgeValues(tree, sets, options);
    for (int node = TokenTree::kRoot; node != TokenTree::kNone;) {
      ASSERT_TRUE(Contains(kept, node)) << "backbone, round " << round;
      int best = TokenTree::kNone;
      for (int child = node + 1; child < tree.size(); ++child) {
        if (tree[child].parent == node && (best == TokenTree::kNone || values[child] > values[best])) best = child;
      }
      node = best;
    }
  }
}

TEST(PruneRule, AHigherThresholdKeepsNothingMore) {
  SeededRandom random(6);
  for (int round = 0; round < 200; ++round) {
    const TokenTree tree = RandomTree(20, random);
    const std::vector<CandidateSet> sets = RandomSets(tree, random);
    const bool safe = round % 2 == 0;
    Nodes before = PruneTree(tree, sets, {.threshold = 0});
    EXPECT_EQ(before.size(), 21u);
    for (const float threshold : {0.05f, 0.1f, 0.3f, 0.6f, 1.1f}) {
      const PruneOptions options = {.threshold = threshold, .with_safeguards = safe, .least_rows_left = 0, .least_leaves_left = 0};
      const Nodes kept = PruneTree(tree, sets, options);
      EXPECT_TRUE(std::includes(before.begin(), before.end(), kept.begin(), kept.end())) << threshold;
      before = kept;
    }
    EXPECT_EQ(before.size() == 1, !safe);
  }
}

TEST(PruneRule, AChainIsItsOwnBackbone) {
  TokenTree chain(0);
  int node = 0;
  for (TokenId token = 1; token < 9; ++token) node = chain.Add(node, token, 0.5f);
  EXPECT_FALSE(MayPrune(chain, {.threshold = 0.5f}));
  EXPECT_TRUE(MayPrune(chain, {.threshold = 0.5f, .with_safeguards = false}));
  EXPECT_FALSE(MayPrune(TokenTree(0), {.threshold = 0.5f, .with_safeguards = false}));
  chain.Add(0, 77, 0.5f);
  EXPECT_TRUE(MayPrune(chain, {.threshold = 0.5f}));
  EXPECT_FALSE(MayPrune(chain, {.threshold = 0}));
  EXPECT_FALSE(MayPrune(chain, {.threshold = 0.5f, .least_rows_dropped = 9}));
}

std::string Refusal(const PruneOptions& options) {
  const absl::Status status = CheckPruneOptions(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(PruneRule, OptionsOutOfRangeAreNamed) {
  Must(CheckPruneOptions({}));
  Must(CheckPruneOptions({.threshold = 0, .keep_near_root = 0, .least_rows_left = 0, .least_leaves_left = 0, .least_rows_dropped = 0}));
  EXPECT_EQ(Refusal({.threshold = -0.5f}), "threshold of pruning: found -0.5, expected a number of at least 0");
  EXPECT_EQ(Refusal({.temperature = 0}), "temperature of pruning: found 0, expected a number above 0");
  EXPECT_EQ(Refusal({.temperature = HUGE_VALF}), "temperature of pruning: found inf, expected a number above 0");
  EXPECT_EQ(Refusal({.threshold = NAN}).substr(0, 27), "threshold of pruning: found");
  EXPECT_EQ(Refusal({.keep_near_root = -1}), "keep_near_root of pruning: found -1, expected a number of at least 0");
  EXPECT_EQ(Refusal({.least_rows_left = -1}), "least_rows_left of pruning: found -1, expected a number of at least 0");
  EXPECT_EQ(Refusal({.least_leaves_left = -1}), "least_leaves_left of pruning: found -1, expected a number of at least 0");
  EXPECT_EQ(Refusal({.least_rows_dropped = -1}), "least_rows_dropped of pruning: found -1, expected a number of at least 0");
}

TEST(PruneRule, OptionsAreReadFromATextAndOthersStay) {
  const PruneOptions from = {.threshold = 0.3f, .with_shadow_tokens = false, .keep_near_root = 5};
  const PruneOptions read =
      Must(ParsePruneOptions("threshold=0.05,tau=2,rows_left=7,leaves_left=2,rows_dropped=4,ancestors=0", from));
  EXPECT_EQ(read.threshold, 0.05f);
  EXPECT_EQ(read.temperature, 2);
  EXPECT_EQ(read.least_rows_left, 7);
  EXPECT_EQ(read.least_leaves_left, 2);
  EXPECT_EQ(read.least_rows_dropped, 4);
  EXPECT_FALSE(read.keep_ancestors);
  EXPECT_EQ(read.keep_near_root, 5);
  EXPECT_FALSE(read.with_shadow_tokens);
  EXPECT_EQ(Must(ParsePruneOptions("near_root=0", from)).keep_near_root, 0);
  EXPECT_EQ(Must(ParsePruneOptions("", from)).threshold, 0.3f);
}

TEST(PruneRule, ATextThatIsWrongIsNamed) {
  const auto refusal = [](absl::string_view text) { return std::string(ParsePruneOptions(text, {}).status().message()); };
  EXPECT_EQ(refusal("threshhold=1"), "pruning: found threshhold, expected one of threshold, tau, near_root, rows_left, leaves_left, "
                                     "rows_dropped, ancestors; did you mean threshold?");
  EXPECT_EQ(refusal("threshold"), "pruning: found \"threshold\", expected KEY=VALUE");
  EXPECT_EQ(refusal("threshold=-1"), "pruning: found threshold=-1, expected a finite number of at least 0");
  EXPECT_EQ(refusal("threshold=nan"), "pruning: found threshold=nan, expected a finite number of at least 0");
  EXPECT_EQ(refusal("tau=0"), "pruning: found tau=0, expected a finite number above 0");
  EXPECT_EQ(refusal("tau=1,tau=2"), "pruning: found tau twice, expected it once");
  EXPECT_EQ(refusal("near_root=x"), "pruning: found near_root=x, expected 0 to 512");
}

}  // namespace
}  // namespace tessera
