// Rows of many trees in one pass: how they are shared out, and what each text is charged for.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/spec/policies/row_policy.h"
#include "tessera/tests/fakes/all_cuts.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

// What a pass over some nodes of its trees gives and takes.
struct Cut {
  CostProfile::Shape shape = {.rows = 0, .leaves = 0, .texts = 0};
  double tokens = 0;
  std::vector<double> rounds = {};   // [depth - 1]: texts that are expected to get there.

  Cut operator+(const Cut& other) const {
    Cut sum = {{shape.rows + other.shape.rows, shape.leaves + other.shape.leaves, shape.texts + other.shape.texts}, tokens + other.tokens,
               rounds};
    sum.rounds.resize(std::max(rounds.size(), other.rounds.size()));
    for (size_t i = 0; i < other.rounds.size(); ++i) sum.rounds[i] += other.rounds[i];
    return sum;
  }
  double Rate(const CostProfile& costs, double draft_seconds) const {
    double head = costs.HeadSeconds(shape.texts);
    for (const double texts : rounds) {
      const int whole = static_cast<int>(texts);
      const double more = costs.HeadSeconds(whole + 1) - costs.HeadSeconds(whole);   // A round of no text takes nothing.
      head += costs.HeadSeconds(whole) + (texts - whole) * more;
    }
    return tokens / (draft_seconds + costs.PassSeconds(shape) + std::min(head, costs.HeadSeconds(shape.rows)));
  }
};

Cut CutOf(const TokenTree& tree, const std::vector<int>& nodes) {
  const TokenTree picked = tree.Pick(nodes);
  Cut cut = {ShapeOf(picked)};
  const std::vector<float> reached = picked.PathProbabilities();
  for (int node = 0; node < picked.size(); ++node) {
    cut.tokens += reached[node];
    if (node == TokenTree::kRoot) continue;
    cut.rounds.resize(std::max(cut.rounds.size(), static_cast<size_t>(picked[node].depth)));
    cut.rounds[picked[node].depth - 1] += reached[node];
  }
  return cut;
}

Cut CutOf(const std::vector<TokenTree>& trees, const std::vector<RowChoice>& choices) {
  Cut all;
  for (size_t i = 0; i < trees.size(); ++i) all = all + CutOf(trees[i], choices[i].nodes);
  return all;
}

std::vector<TreeToCut> ToCut(const std::vector<TokenTree>& trees) {
  std::vector<TreeToCut> to_cut;
  for (const TokenTree& tree : trees) to_cut.push_back({.tree = &tree});
  return to_cut;
}

// As if a tree were all there is, looking at every node before each step: what ShareRows of one must say, bit for bit.
class PlainSearch {
 public:
  PlainSearch(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits)
      : tree_(tree), costs_(costs), limits_(limits), reached_(tree.PathProbabilities()) {}

  RowChoice Best() {
    RowChoice best;
    for (const bool time_counts : {false, true}) {
      const RowChoice found = Search(time_counts);
      if (best.seconds == 0 || found.tokens * best.seconds > best.tokens * found.seconds) best = found;
    }
    return best;
  }

 private:
  RowChoice Search(bool time_counts) {
    in_.assign(tree_.size(), false);
    has_child_ = in_;
    in_[TokenTree::kRoot] = true;
    CostProfile::Shape shape;
    RowChoice best, now;
    best.seconds = SecondsOf(shape, 1);
    double least_rate = limits_.least_gain / best.seconds;
    while (shape.rows < limits_.most_rows) {
      const int node = Next(shape, time_counts);
      if (node == TokenTree::kNone) break;
      const bool extends = !has_child_[tree_[node].parent];
      shape = {shape.rows + 1, shape.leaves + (extends ? 0 : 1)};
      in_[node] = has_child_[tree_[node].parent] = true;
      now.nodes.push_back(node);
      now.tokens += reached_[node];
      now.seconds = SecondsOf(shape, now.tokens);
      if (now.tokens / now.seconds <= least_rate) continue;
      least_rate = now.tokens / now.seconds;
      best = now;
    }
    return best;
  }

  int Next(const CostProfile::Shape& shape, bool time_counts) const {
    int best = TokenTree::kNone;
    double best_rate = 0;
    for (int node = 1; node < tree_.size(); ++node) {
      if (in_[node] || !in_[tree_[node].parent]) continue;
      const int leaves = has_child_[tree_[node].parent] ? 1 : 0;
      const double more = costs_.PassSeconds({shape.rows + 1, shape.leaves + leaves}) - costs_.PassSeconds(shape);
      const double rate = time_counts ? reached_[node] / std::max(more, 1e-12) : reached_[node];
      if (best == TokenTree::kNone || rate > best_rate) {
        best = node;
        best_rate = rate;
      }
    }
    return best;
  }

  double SecondsOf(const CostProfile::Shape& shape, double tokens) const {
    const double head = std::min(costs_.HeadSeconds(1) * tokens, costs_.HeadSeconds(shape.rows));
    return limits_.draft_seconds + costs_.PassSeconds(shape) + head;
  }

  const TokenTree& tree_;
  const CostProfile& costs_;
  const RowLimits& limits_;
  const std::vector<float> reached_;
  std::vector<bool> in_, has_child_;
};

TEST(RowSharing, OneTreeIsCutLikeAStepByStepSearch) {
  SeededRandom random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const TokenTree tree = RandomTree(static_cast<int>(random.Below(40)), random);
    const double leaf = trial % 3 == 0 ? 0 : 1e-6 * static_cast<double>(random.Below(500));
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0), {.leaf = leaf, .head_64 = trial % 5 == 0 ? 0.002 : 0.064});
    const RowLimits limits = {.most_rows = 1 + static_cast<int>(random.Below(40)), .draft_seconds = trial % 4 * 1e-4};
    const RowChoice found = ChooseRows(tree, costs, limits), expected = PlainSearch(tree, costs, limits).Best();
    ASSERT_EQ(found.nodes, expected.nodes) << trial;
    ASSERT_EQ(found.tokens, expected.tokens) << trial;
    ASSERT_EQ(found.seconds, expected.seconds) << trial;
    ASSERT_EQ(found.leaves, tree.Pick(found.nodes).Leaves()) << trial;
    ASSERT_EQ(found.beside.rows, 0);
  }
}

double BestRate(const std::vector<TokenTree>& trees, const CostProfile& costs, int most_rows, double draft_seconds) {
  std::vector<Cut> all = {Cut()};
  for (const TokenTree& tree : trees) {
    std::vector<Cut> more;
    for (const std::vector<int>& nodes : AllCuts(tree)) {
      const Cut cut = CutOf(tree, nodes);
      for (const Cut& before : all) more.push_back(before + cut);
    }
    all = std::move(more);
  }
  double best = 0;
  for (const Cut& cut : all) best = std::max(best, cut.shape.rows <= most_rows ? cut.Rate(costs, draft_seconds) : 0);
  return best;
}

// The best of: one tree cut as if it were alone, of the others the roots.
double BestOfOneTree(const std::vector<TokenTree>& trees, const CostProfile& costs, int most_rows, double draft_seconds) {
  double best = 0;
  for (size_t tree = 0; tree < trees.size(); ++tree) {
    const int room = most_rows - static_cast<int>(trees.size()) + 1;
    Cut all;
    for (size_t i = 0; i < trees.size(); ++i) {
      const RowChoice choice = i == tree ? ChooseRows(trees[i], costs, {.most_rows = room, .least_gain = 1}) : RowChoice();
      all = all + CutOf(trees[i], choice.nodes);
    }
    best = std::max(best, all.Rate(costs, draft_seconds));
  }
  return best;
}

struct Compared { double worst = 1, sum = 0; };

// With the best of all cuts, over many small forests.
Compared Compare(double most_leaf_seconds, int trials) {
  SeededRandom random(2);
  Compared compared;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<TokenTree> trees;
    for (int count = 2 + trial % 2; count > 0; --count) trees.push_back(RandomTree(static_cast<int>(random.Below(6)), random));
    const double leaf = most_leaf_seconds * 0.01 * static_cast<double>(random.Below(101));
    const CostProfile costs = Costs(RandomPass(random, trial % 4 < 2, /*rows=*/18), {.leaf = leaf, .text = trial % 3 * 1e-4});
    const int most_rows = static_cast<int>(trees.size()) + static_cast<int>(random.Below(16));
    std::vector<TreeToCut> to_cut = ToCut(trees);
    to_cut[0].draft_seconds = 1e-4;
    const Cut cut = CutOf(trees, ShareRows(to_cut, costs, {.most_rows = most_rows, .least_gain = 1}));
    EXPECT_LE(cut.shape.rows, most_rows);
    const double rate = cut.Rate(costs, 1e-4), share = rate / BestRate(trees, costs, most_rows, 1e-4);
    EXPECT_GE(rate, BestOfOneTree(trees, costs, most_rows, 1e-4) * (1 - 1e-9)) << trial;
    compared.worst = std::min(compared.worst, share);
    compared.sum += share;
  }
  return compared;
}

TEST(RowSharing, NoOtherCutsGiveMoreTokensASecond) {
  EXPECT_GT(Compare(/*most_leaf_seconds=*/0, 300).worst, 1 - 1e-5);
}

TEST(RowSharing, WithAPriceOfLeavesSharingIsNearTheBestAndNoTreeAloneIsBetter) {
  const Compared small = Compare(/*most_leaf_seconds=*/3e-4, 300), large = Compare(/*most_leaf_seconds=*/2e-3, 300);
  EXPECT_GT(small.worst, 0.98);
  EXPECT_GT(small.sum / 300, 0.9995);
  EXPECT_GT(large.worst, 0.9);   // Where a leaf costs a third of a pass.
  EXPECT_GT(large.sum / 300, 0.998);
}

TokenTree Chain(int nodes, float probability) {
  TokenTree tree(0);
  for (int node = 0; node < nodes; ++node) tree.Add(node, 1, probability);
  return tree;
}

TEST(RowSharing, RowsGoToTheTreesWithTheLargestExpectedGain) {
  const std::vector<TokenTree> trees = {Chain(8, 0.95f), Chain(8, 0.3f), Chain(8, 0.6f)};
  const std::vector<RowChoice> choices = ShareRows(ToCut(trees), Costs({0.006, 0.0061, 0.0062}), {.most_rows = 12});
  EXPECT_EQ(CutOf(trees, choices).shape.rows, 12);
  EXPECT_EQ(choices[0].nodes.size(), 8u) << "the last is reached in 0.66 of all cases";
  EXPECT_EQ(choices[1].nodes.size(), 0u);
  EXPECT_EQ(choices[2].nodes.size(), 1u);
}

TEST(RowSharing, WhereEachRowCostsAPassNothingIsVerified) {
  const std::vector<TokenTree> trees = {Chain(4, 0.9f), Chain(4, 0.5f)};
  for (const RowChoice& choice : ShareRows(ToCut(trees), Costs({0.006, 0.012, 0.018}), {.most_rows = 64})) {
    EXPECT_TRUE(choice.nodes.empty());
    EXPECT_EQ(choice.tokens, 1);
    EXPECT_EQ(choice.beside.texts, 1);
  }
}

TEST(RowSharing, WholeTreesStayWholeWhileThereAreRows) {
  const std::vector<TokenTree> trees = {Chain(4, 0.01f), Chain(4, 0.005f), Chain(3, 0.02f)};
  std::vector<TreeToCut> to_cut = ToCut(trees);
  to_cut[0].whole = to_cut[2].whole = true;
  const CostProfile dear = Costs({0.006, 0.012, 0.018});
  for (const CostProfile& costs : {dear, CostProfile()}) {
    const std::vector<RowChoice> choices = ShareRows(to_cut, costs, {.most_rows = 64});
    EXPECT_EQ(choices[0].nodes.size(), 4u);
    EXPECT_EQ(choices[1].nodes.size(), 0u);
    EXPECT_EQ(choices[2].nodes.size(), 3u);
  }
  const std::vector<RowChoice> few = ShareRows(to_cut, dear, {.most_rows = 6});
  EXPECT_EQ(few[0].nodes.size() + few[1].nodes.size() + few[2].nodes.size(), 3u);
  EXPECT_EQ(few[2].nodes.size(), 2u) << "the most probable first";
  for (const RowChoice& choice : ShareRows(to_cut, dear, {.most_rows = 3})) EXPECT_TRUE(choice.nodes.empty());
}

TEST(RowSharing, SharesOfAllTextsAreThePassAndTheStep) {
  SeededRandom random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<TokenTree> trees;
    for (int64_t count = 1 + random.Below(8); count > 0; --count) trees.push_back(RandomTree(static_cast<int>(random.Below(12)), random));
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0, 40), {.leaf = trial % 3 * 1e-5, .text = trial % 4 * 1e-4});
    const std::vector<RowChoice> choices = ShareRows(ToCut(trees), costs, {.most_rows = 40});
    const Cut all = CutOf(trees, choices);
    double shares = 0, seconds = 0;
    for (const RowChoice& choice : choices) {
      const double share = MarginalShare(all.shape, choice.shape(), costs);
      EXPECT_TRUE(share > 0 && share <= 1) << share;
      EXPECT_EQ(choice.beside.rows + choice.shape().rows, all.shape.rows);
      EXPECT_EQ(choice.beside.leaves + choice.shape().leaves, all.shape.leaves);
      shares += share;
      seconds += choice.seconds;
    }
    EXPECT_NEAR(shares, 1, 1e-9);
    EXPECT_NEAR(all.tokens / seconds / all.Rate(costs, 0), 1, 1e-6);
  }
  EXPECT_EQ(MarginalShare({.rows = 6, .leaves = 2, .texts = 2}, {.rows = 3}, CostProfile()), 0.5) << "without costs, by rows";
}

TEST(RowSharing, ATextWithADraftIsChargedForItsOwnShare) {
  const CostProfile costs = Costs({0.006, 0.007, 0.008, 0.009, 0.010}, {.leaf = 5e-4});
  const CostProfile::Shape all = {.rows = 5, .leaves = 3, .texts = 2};
  EXPECT_NEAR(MarginalShare(all, {.rows = 1}, costs), 0.0035 / 0.0105, 1e-9);
  EXPECT_NEAR(MarginalShare(all, {.rows = 4, .leaves = 2}, costs), 0.0070 / 0.0105, 1e-9);
}

TEST(PromptRows, AreTheMostThatKeepThePassWithinTheGap) {
  SeededRandom random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const CostProfile costs = Costs(RandomPass(random, trial % 2 == 0, 30), {.leaf = trial % 3 * 1e-4, .text = trial % 4 * 1e-4});
    const int texts = 1 + static_cast<int>(random.Below(8));
    const CostProfile::Shape pass = {.rows = texts + static_cast<int>(random.Below(20)), .leaves = texts, .texts = texts};
    const PromptLimits limits = {.most_rows = static_cast<int>(random.Below(512)), .most_gap = 1.2 + 0.1 * (trial % 9)};
    const auto fits = [&](int rows) {
      const double head = costs.HeadSeconds(pass.texts);
      return costs.PassSeconds({pass.rows + rows, pass.leaves + 1, pass.texts + 1}) + head <=
             limits.most_gap * (costs.PassSeconds(pass) + head);
    };
    const int rows = PromptRows(pass, costs, limits);
    EXPECT_TRUE(rows >= std::min(limits.most_rows, 4) && rows <= limits.most_rows) << rows;
    EXPECT_TRUE(rows <= 4 || fits(rows)) << trial;
    EXPECT_TRUE(rows == limits.most_rows || !fits(rows + 1)) << trial;
  }
}

// A machine on which rows, and attention to `depth` tokens before them, take time; and a prompt that is read on it beside running texts.
struct Reading {
  int passes = 0;
  int too_long = 0;          // Passes that took over 1.05 times the gap.
  double longest = 0;        // As a share of the gap.
};

template <typename Seconds>
Reading ReadPrompt(const CostProfile::Shape& running, int prompt, Seconds seconds, CostProfile& costs) {
  Reading reading;
  for (int read = 0; read < prompt; ++reading.passes) {
    const double without = seconds(running.rows, 0);
    costs.AddPass(running, without);
    const int rows = std::min(PromptRows(running, costs, {.most_rows = 512 - running.rows}), prompt - read);
    const double with = seconds(running.rows + rows, read);
    costs.AddPromptPass(running.rows + rows, with);
    reading.longest = std::max(reading.longest, with / (2 * without));
    reading.too_long += with > 1.05 * 2 * without ? 1 : 0;
    read += rows;
  }
  return reading;
}

TEST(PromptRows, GrowUntilTheGapIsReachedOnEveryMachine) {
  const auto waits_for_weights = [](int rows, int) { return std::max(0.005, 1e-4 * rows); };          // 100 rows are the most.
  const auto adds_up = [](int rows, int) { return 0.005 + 1e-4 * rows; };                             // 50
  const auto deep = [](int rows, int depth) { return std::max(0.005, 1e-4 * rows * (1 + depth / 4000.0)); };   // 100, then 50
  const auto in_tiles = [](int rows, int) { return std::max(0.005, 4e-3 * ((rows + 15) / 16)); };     // 32
  for (const int texts : {1, 8}) {
    const CostProfile::Shape running = {.rows = texts, .leaves = texts, .texts = texts};
    const auto expect = [&](auto seconds, double most_passes, const char* machine, double longest = 1.08) {
      CostProfile costs;
      const Reading reading = ReadPrompt(running, 4000, seconds, costs);
      EXPECT_LE(reading.passes, most_passes) << machine << ", " << texts;
      EXPECT_LE(reading.longest, longest) << machine << ", " << texts;
    };
    expect(waits_for_weights, 4000 / (100 - texts) + 8, "waits for weights");
    expect(adds_up, 1.25 * 4000 / 50 + 8, "adds up");
    expect(deep, 4000 / (70 - texts) + 10, "deep");
    expect(in_tiles, 1.35 * 4000 / (32 - texts) + 8, "in tiles", /*longest=*/1.25);   // By a tile.
  }
}

// As where all texts began together: their prompts were read in one large pass.
TEST(PromptRows, ShrinkAtOnceAfterALargePass) {
  CostProfile costs;
  costs.AddPromptPass(512, 0.0512);
  const auto seconds = [](int rows, int) { return std::max(0.005, 1e-4 * rows); };
  const Reading reading = ReadPrompt({.rows = 8, .leaves = 8, .texts = 8}, 4000, seconds, costs);
  EXPECT_LE(reading.longest, 1.05);
  EXPECT_LE(reading.passes, 4000 / 90 + 4);
}

TEST(PromptRows, ASlowPassNowAndThenMakesNoPartSmaller) {
  CostProfile costs;
  int passes = 0;
  const auto seconds = [&](int rows, int depth) { return std::max(0.005, 1e-4 * rows) * (depth > 0 && ++passes % 20 == 0 ? 3 : 1); };
  const Reading reading = ReadPrompt({.rows = 1}, 4000, seconds, costs);
  EXPECT_LE(reading.passes, 47);
  EXPECT_LE(reading.too_long, 3);
}

TEST(PromptRows, FillThePassWhereRowsCostNextToNothing) {
  CostProfile streamed;
  streamed.ExpectFreeRows();
  for (int i = 0; i < 3; ++i) streamed.AddPass({.rows = 1}, 0.1);
  EXPECT_EQ(PromptRows({}, streamed, {.most_rows = 90}), 90);
  EXPECT_EQ(PromptRows({}, CostProfile(), {.most_rows = 511}), 511) << "nothing is known";
  EXPECT_EQ(PromptRows({}, streamed, {.most_rows = 0}), 0);
}

TEST(PromptRows, AFewRowsAtLeastGoOn) {
  const CostProfile dear = Costs({0.006, 0.012}, {.text = 0.5});
  EXPECT_EQ(PromptRows({}, dear, {.most_rows = 100}), 4);
  EXPECT_EQ(PromptRows({}, dear, {.most_rows = 3}), 3);
}

// A text that has become long is slower by itself than what was measured while it was short. One slow pass says nothing.
TEST(PromptRows, GapsAreMultiplesOfTheCurrentPlainPassTime) {
  CostProfile costs;
  for (int i = 0; i < 20; ++i) costs.AddPass({}, 0.005);
  costs.AddPromptPass(50, 0.010);
  const int before = PromptRows({}, costs, {.most_rows = 500});
  EXPECT_NEAR(before, 49, 1);
  costs.AddPass({}, 0.0075);
  EXPECT_NEAR(PromptRows({}, costs, {.most_rows = 500}), before, 3);
  costs.AddPass({}, 0.0075);
  EXPECT_GT(PromptRows({}, costs, {.most_rows = 500}), before + 15);
}

}  // namespace
}  // namespace tessera
