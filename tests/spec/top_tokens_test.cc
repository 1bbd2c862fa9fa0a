#include "tessera/spec/top_tokens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

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
  EXPECT_NEAR(top[0].probability, std::exp(3) / sum, 1e-6);
}

TEST(TopTokens, LeavesOutWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const TopTokens top = TopTokensOf({{nan, -infinity, 1, 2, nan}}, 4);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].token, 3);
  EXPECT_NEAR(top[0].probability + top[1].probability, 1, 1e-6);
  EXPECT_TRUE(TopTokensOf({{nan, nan}}, 2).empty());
  EXPECT_TRUE(TopTokensOf({{1.0f, 2.0f}}, 0).empty());
}

}  // namespace
}  // namespace tessera
