#include "tessera/spec/trees/top_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(TopTokens, HeaderExample) {
  const std::vector<float> logits = {0, 3, 1, 3, 2, -1};
  const TopTokens top = TopTokensOf(logits, 4);
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 4);
  EXPECT_EQ(top[3].token, 2);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit);
  EXPECT_NEAR(top[0].probability, std::exp(3) / sum, 1e-6);  // With so few, all are summed one by one.
}

TEST(TopTokens, LeavesOutNansAndInfinities) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const TopTokens top = TopTokensOf({{nan, -infinity, 1, 2, nan}}, 4);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].token, 3);
  EXPECT_NEAR(top[0].probability + top[1].probability, 1, 1e-6);
  EXPECT_TRUE(TopTokensOf({{nan, nan}}, 2).empty());
  EXPECT_TRUE(TopTokensOf({{1.0f, 2.0f}}, 0).empty());
}

// A sort of all of them.
std::vector<TokenId> Ranked(const std::vector<float>& logits) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -std::numeric_limits<float>::infinity()) tokens.push_back(static_cast<TokenId>(i));
  }
  std::stable_sort(tokens.begin(), tokens.end(), [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
  return tokens;
}

TEST(TopTokens, AreTheFirstOfAFullSortWhateverTheSize) {
  SeededRandom random(5);
  for (int size = 1; size < 3000; size += 1 + size / 7) {
    std::vector<float> logits(size);
    for (float& logit : logits) {
      logit = static_cast<float>(random.Below(40)) - 20;  // Many equal ones.
      if (random.Below(30) == 0) logit = std::numeric_limits<float>::quiet_NaN();
      if (random.Below(30) == 0) logit = -std::numeric_limits<float>::infinity();
    }
    const std::vector<TokenId> ranked = Ranked(logits);
    for (const int count : {1, 4, 8, 11}) {
      const TopTokens top = TopTokensOf(logits, count);
      ASSERT_EQ(top.size(), std::min<size_t>(count, ranked.size()));
      double sum = 0;
      for (size_t i = 0; i < top.size(); ++i) {
        EXPECT_EQ(top[i].token, ranked[i]) << size;
        EXPECT_GT(top[i].probability, 0);
        sum += top[i].probability;
      }
      EXPECT_LE(sum, 1 + 1e-6);
    }
  }
}

// With a large vocabulary, too, sharp or flat: within a fifth of the true values.
TEST(TopTokens, ProbabilitiesAreGoodEstimates) {
  SeededRandom random(6);
  for (const double spread : {0.5, 1.0, 2.0, 3.0, 5.0}) {
    std::vector<float> logits(49152);
    for (float& logit : logits) logit = static_cast<float>(spread * random.Gaussian());
    const TopTokens top = TopTokensOf(logits, 4);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    for (const TopToken& entry : top) {
      const double exact = std::exp(static_cast<double>(logits[entry.token])) / sum;
      EXPECT_NEAR(entry.probability / exact, 1, 0.2) << spread;
    }
  }
}

TEST(TopTokens, InfiniteLogitsAreCertain) {
  const float infinity = std::numeric_limits<float>::infinity();
  const TopTokens top = TopTokensOf({{1, infinity, 2}}, 2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[0].probability, 1);
  EXPECT_EQ(top[1].probability, 0);
}

}  // namespace
}  // namespace tessera
