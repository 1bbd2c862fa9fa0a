#include "tessera/spec/tree_chances.h"

#include <gtest/gtest.h>

#include "tessera/base/random.h"
#include "tessera/spec/verify.h"

namespace tessera {
namespace {

TokenTree Chain(int length, float probability) {
  TokenTree tree(0);
  for (int node = 1; node <= length; ++node) tree.Add(node - 1, node, probability, /*source=*/node);
  return tree;
}

TEST(TreeChances, HeaderExample) {
  const TokenTree proposal = Chain(2, 0.8f);
  const Verdict verdict = {.path = {0}, .emitted = {9}};
  TreeChances chances;
  chances.Learn(proposal, verdict.emitted);
  const TokenTree tree = chances.Of(proposal);
  EXPECT_LT(tree[1].probability, 0.6f);
}

TEST(TreeChances, AreWhatIsSaidUntilItProvesTooMuch) {
  const TokenTree proposal = Chain(5, 0.6f);
  TreeChances chances;
  for (int step = 0; step < 2; ++step) {
    const TokenTree tree = chances.Of(proposal);
    ASSERT_EQ(tree.size(), proposal.size());
    for (int node = 1; node < tree.size(); ++node) {
      EXPECT_EQ(tree[node].probability, proposal[node].probability);
      EXPECT_EQ(tree[node].token, proposal[node].token);
      EXPECT_EQ(tree[node].parent, proposal[node].parent);
      EXPECT_EQ(tree[node].source, proposal[node].source);
    }
    for (int i = 0; i < 20; ++i) chances.Learn(proposal, {{1, 2, 3, 4, 5, 6}});   // All of it came: they are never raised.
  }
}

// Two that each guess with noise: the better guess is too good, and what comes of it is known after some steps.
TEST(TreeChances, LowerTheLargerOfTwoNoisyEstimates) {
  SeededRandom random(4);
  TreeChances chances;
  const auto noisy = [&] { return 0.4f + 0.02f * static_cast<float>(random.Below(21)) - 0.2f; };   // 0.2 to 0.6, of 0.4 in truth.
  double expected = 0, calibrated = 0, came = 0;
  for (int step = 0; step < 4000; ++step) {
    TokenTree proposal(0);
    proposal.Add(0, 1, std::max(noisy(), noisy()));
    const bool right = random.Below(10) < 4;
    expected += proposal[1].probability;
    calibrated += chances.Of(proposal)[1].probability;
    came += right ? 1 : 0;
    chances.Learn(proposal, {{right ? 1 : 2}});
  }
  EXPECT_GT(expected / came, 1.12);
  EXPECT_NEAR(calibrated / came, 1, 0.08);
}

TEST(TreeChances, TheRootAloneTeachesNothing) {
  TreeChances chances;
  chances.Learn(TokenTree(3), {{1, 2}});
  EXPECT_EQ(chances.Of(Chain(1, 0.5f))[1].probability, 0.5f);
}

}  // namespace
}  // namespace tessera
