#include "tessera/spec/trees/reliability.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/base/random.h"

namespace tessera {
namespace {

const TopTokens kSaid = {{7, 0.5f}, {9, 0.25f}};

void Learn(int depth, bool hit, Reliability& reliability) { reliability.Learn(depth, kSaid, hit ? 0 : TokenTree::kNone); }

TEST(Reliability, HeaderExample) {
  const TopTokens said = {{7, 0.8f}, {9, 0.1f}};
  Reliability reliability({});
  EXPECT_EQ(reliability.Chances(said, /*depth=*/1), (absl::InlinedVector<float, 8>{0.8f, 0.1f}));
  reliability.Learn(/*depth=*/1, said, /*rank=*/TokenTree::kNone);
  EXPECT_DOUBLE_EQ(reliability.rho(1), 0.95);
  EXPECT_LT(reliability.Chances(said, 1)[0], 0.76f);
  ReliabilityTable table;
  table.Add(/*expected=*/0.76, /*accepted=*/true);
  EXPECT_NEAR(table.Error(), 0.24, 1e-9);
}

TEST(Reliability, ADepthThatWasNeverSeenTakesThatOfAll) {
  Reliability reliability({});
  for (int i = 0; i < 3; ++i) Learn(1, false, reliability);
  EXPECT_DOUBLE_EQ(reliability.rho(4), reliability.rho(1));
  Learn(2, true, reliability);
  EXPECT_GT(reliability.rho(2), reliability.rho(1));
  for (int i = 0; i < 10; ++i) Learn(100, false, reliability);
  EXPECT_LT(reliability.rho(8), reliability.rho(1));   // Deep ones are one.
}

TEST(Reliability, FallsToItsLeastAndRisesAgain) {
  Reliability reliability({.new_weight = 0.1, .least = 0.3});
  for (int i = 0; i < 100; ++i) Learn(1, false, reliability);
  EXPECT_DOUBLE_EQ(reliability.rho(1), 0.3);
  for (int i = 0; i < 100; ++i) Learn(1, true, reliability);
  EXPECT_GT(reliability.rho(1), 0.99);
  EXPECT_LE(reliability.rho(1), 1);
}

TEST(Reliability, FollowsTheShareOfHits) {
  Reliability reliability({});
  SeededRandom random(1);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    Learn(1, random.Uniform() < 0.7, reliability);
    if (i >= 2000) sum += reliability.rho(1);
  }
  EXPECT_NEAR(sum / 2000, 0.7, 0.05);
}

// What rho cannot say: a greedy text goes where the draft's first guess says, however little the draft believes in it.
TEST(Reliability, RanksAreCorrectedByTheAcceptedTokens) {
  Reliability reliability({});
  for (int i = 0; i < 200; ++i) reliability.Learn(1 + i % 3, kSaid, /*rank=*/0);
  EXPECT_GT(reliability.Chances(kSaid, 1)[0], 0.95f);
  EXPECT_LE(reliability.Chances(kSaid, 1)[1], 0.05f);
  EXPECT_FLOAT_EQ(reliability.Chances({{7, 0.9f}}, 1)[0], 0.9f) << "nothing is known of surer ones";
}

TEST(Reliability, ChancesKeepTheOrderAndAreADistribution) {
  SeededRandom random(3);
  Reliability reliability({});
  for (int i = 0; i < 2000; ++i) {
    TopTokens said;
    float left = 1;
    for (TokenId token = 0; token < 1 + static_cast<TokenId>(random.Below(8)); ++token) {
      const float probability = random.Uniform(0, said.empty() ? left : std::min(left, said.back().probability));
      said.push_back({token, probability});
      left -= probability;
    }
    const int depth = 1 + static_cast<int>(random.Below(10));
    float sum = 0, before = 1;
    for (const float chance : reliability.Chances(said, depth)) {
      EXPECT_LE(chance, before);
      EXPECT_GE(chance, 0);
      before = chance;
      sum += chance;
    }
    EXPECT_LE(sum, 1.0001f);
    reliability.Learn(depth, said, static_cast<int>(random.Below(static_cast<int64_t>(said.size()) + 1)) - 1);
  }
}

TEST(ReliabilityTable, RightEstimatesLieOnTheDiagonalAndWrongOnesDoNot) {
  SeededRandom random(2);
  ReliabilityTable right, wrong, both;
  for (int i = 0; i < 20000; ++i) {
    const double expected = random.Uniform();
    right.Add(expected, random.Uniform() < expected);
    wrong.Add(expected, random.Uniform() < expected * expected);
  }
  EXPECT_LT(right.Error(), 0.03);
  EXPECT_NEAR(wrong.Error(), 1.0 / 6, 0.03);   // The mean of x - x * x.
  both += right;
  both += wrong;
  EXPECT_EQ(both.count(), 40000);
  EXPECT_NEAR(both.bins()[10].expected(), 0.525, 0.01);
}

TEST(ReliabilityTable, TheEndsHaveBins) {
  ReliabilityTable table;
  EXPECT_EQ(table.Error(), 0);
  table.Add(0, false);
  table.Add(1, true);
  EXPECT_EQ(table.bins().front().count, 1);
  EXPECT_EQ(table.bins().back().count, 1);
  EXPECT_EQ(table.Error(), 0);
}

}  // namespace
}  // namespace tessera
