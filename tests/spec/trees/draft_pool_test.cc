#include "tessera/spec/trees/draft_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/spec/policies/worked_tree.h"

namespace tessera {
namespace {

TEST(DraftPool, HeaderExample) {
  TableExpander expander(WorkedDistribution());
  ASSERT_TRUE(expander.Begin({0}).ok());
  const TokenId root = 0;
  std::vector<float> reached;
  const auto run = [&]() -> absl::StatusOr<TokenTree> {
    DraftPool pool(root, expander, {.candidates = 8});
    RETURN_IF_ERROR(pool.Expand({TokenTree::kRoot}));
    for (const int child : pool.children(TokenTree::kRoot)) reached.push_back(pool.reached(child));
    const std::vector<int> waiting = pool.children(TokenTree::kRoot);
    RETURN_IF_ERROR(pool.Expand(waiting));
    EXPECT_EQ(pool.passes(), 2);
    EXPECT_EQ(pool.rows(), 3);
    return pool.tree().Pick({1, 3});
  };
  const absl::StatusOr<TokenTree> tree = run();
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->PathTo(2), (std::vector<TokenId>{1, 3}));
  EXPECT_EQ(reached, (std::vector<float>{0.6f, 0.35f}));
}

TEST(DraftPool, ReachedIsTheProductOfCorrectedProbabilities) {
  Reliability reliability({});
  reliability.Learn(1, {}, TokenTree::kNone);    // 0.95 for depth 1,
  reliability.Learn(2, {}, TokenTree::kNone);    // and 0.9025 for depth 2.
  TableExpander expander(WorkedDistribution());
  ASSERT_TRUE(expander.Begin({0}).ok());
  DraftPool pool(0, expander, {.reliability = &reliability});
  ASSERT_TRUE(pool.Expand({TokenTree::kRoot}).ok());
  ASSERT_TRUE(pool.Expand({1}).ok());
  EXPECT_NEAR(pool.reached(1), 0.6 * 0.95, 1e-6);
  EXPECT_NEAR(pool.reached(3), 0.6 * 0.95 * 0.5 * 0.9025, 1e-6);
  EXPECT_FLOAT_EQ(pool.candidates(1)[0].probability, 0.5f);   // As the draft says.
}

TEST(DraftPool, FollowsTheTextThroughExpandedNodes) {
  WorkedDraft draft;
  EXPECT_TRUE(draft.pool.Follow({{1}}).empty());
  ASSERT_TRUE(draft.pool.Expand({TokenTree::kRoot}).ok());
  ASSERT_TRUE(draft.pool.Expand({1}).ok());
  const std::vector<DraftPool::Step> steps = draft.pool.Follow({{1, 4, 9}});
  ASSERT_EQ(steps.size(), 2u);           // What comes after 4 was not asked.
  EXPECT_EQ(steps[0].rank, 0);
  EXPECT_EQ(steps[1].node, 1);
  EXPECT_EQ(steps[1].rank, 1);
  const std::vector<DraftPool::Step> other = draft.pool.Follow({{8, 4}});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].rank, TokenTree::kNone);
}

TEST(DraftPool, BatchesAreAsWideAsTheirTimeIsWorth) {
  const auto batch = [](double pass, double row, int most_rows) {
    WorkedDraft draft({.pass = pass, .row = row, .most_rows = most_rows});
    CHECK(draft.pool.Expand({TokenTree::kRoot}).ok());
    return draft.pool.BatchOf({1, 2});
  };
  EXPECT_EQ(batch(0, 0.25, 64), 1);        // Two rows take as long as two passes.
  EXPECT_EQ(batch(0.25, 0, 64), 2);        // They take as long as one.
  EXPECT_EQ(batch(0.25, 0, 1), 1);
  EXPECT_EQ(batch(0.125, 0.25, 64), 1);    // 0.6 in 0.375 s, or 0.95 in 0.625 s.
  EXPECT_EQ(batch(0.25, 0.25, 64), 2);     // 0.6 in 0.5 s, or 0.95 in 0.75 s.
}

TEST(DraftPool, PassesAreNoWiderThanTheExpanderAllows) {
  WorkedDraft draft({.pass = 1, .row = 0, .most_rows = 1});
  ASSERT_TRUE(draft.pool.Expand({TokenTree::kRoot}).ok());
  ASSERT_TRUE(draft.pool.Expand({1, 2}).ok());
  EXPECT_EQ(draft.expander.batches(), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(draft.pool.seconds(), 3);
  EXPECT_EQ(draft.pool.SecondsOf(2), 2);
}

TEST(DraftPool, SampledChildrenStandInTheOrderOfTheirDraws) {
  int swapped = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    TableExpander expander(WorkedDistribution());
    ASSERT_TRUE(expander.Begin({0}).ok());
    DraftPool pool(0, expander, {.sampling = DraftSampling{.children = 2}, .draws = {.seed = seed, .stream = 1, .position = 1}});
    ASSERT_TRUE(pool.Expand({TokenTree::kRoot}).ok());
    ASSERT_EQ(pool.children(TokenTree::kRoot).size(), 2u);
    const DrawnChildren& drawn = pool.drawn(TokenTree::kRoot);
    EXPECT_EQ(pool.tree()[1].token, drawn.tokens[0]);
    EXPECT_EQ(pool.tree()[2].token, drawn.tokens[1]);
    EXPECT_NEAR(pool.tree()[1].probability + pool.tree()[2].probability, 1, 1e-6);   // Together all that is drawn from.
    swapped += drawn.tokens[0] == 2 ? 1 : 0;
    ASSERT_TRUE(pool.Expand({1}).ok());
    const uint64_t stream = MixBits(1 ^ (static_cast<uint64_t>(pool.tree()[1].token) + 1));   // Its path's.
    const DrawnChildren again = DrawChildren(pool.candidates(1), {.children = 2}, {.seed = seed, .stream = stream, .position = 2});
    EXPECT_EQ(pool.drawn(1).tokens, again.tokens);
  }
  EXPECT_GT(swapped, 5);
  EXPECT_LT(swapped, 35);
}

TEST(DraftPool, NumbersThatAreNoDistributionAreAnError) {
  const auto error = [](TopTokens said, bool talks_too_much = false, bool says_too_little = false) {
    TableExpander expander(AfterToken({{0, said}}));
    expander.talks_too_much = talks_too_much;
    expander.says_too_little = says_too_little;
    CHECK(expander.Begin({0}).ok());
    DraftPool pool(0, expander, {.candidates = 2});
    const absl::Status status = pool.Expand({TokenTree::kRoot});
    EXPECT_EQ(pool.tree().size(), status.ok() ? pool.tree().size() : 1);
    return std::string(status.message());
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error({{1, 0.5f}, {2, 0}}), "");   // 0 may be said, but is not drafted.
  EXPECT_EQ(error({{1, nan}}), "draft table: node 0: found probability nan, expected 0 to 1");
  EXPECT_EQ(error({{1, 1.5f}}), "draft table: node 0: found probability 1.5, expected 0 to 1");
  EXPECT_EQ(error({{-1, 0.5f}}), "draft table: node 0: found token -1, expected 0 or more");
  EXPECT_EQ(error({{1, 0.5f}, {1, 0.25f}}), "draft table: node 0: found token 1 twice, expected it once");
  EXPECT_EQ(error({{1, 0.25f}, {2, 0.5f}}), "draft table: node 0: found a likelier candidate behind another, expected the likeliest first");
  EXPECT_EQ(error({{1, 0.75f}, {2, 0.75f}}), "draft table: node 0: found probabilities of 1.5 together, expected at most 1");
  EXPECT_EQ(error({{1, 0.5f}, {2, 0.25f}, {3, 0.125f}}, true), "draft table: node 0: found 3 candidates, expected at most 2");
  EXPECT_EQ(error({{1, 0.5f}}, false, true), "draft table: found answers for 0 nodes, expected 1");
}

}  // namespace
}  // namespace tessera
