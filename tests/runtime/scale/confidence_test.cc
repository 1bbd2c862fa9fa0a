#include "tessera/runtime/scale/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(Confidence, HeaderExample) {
  TextConfidence confidence;
  const auto on_token = confidence.Listener();
  on_token(1, std::vector<float>{0.f, 1.f, 0.f});
  on_token(0, std::vector<float>{2.f, 2.f, 2.f});
  EXPECT_EQ(confidence.tokens(), 2);
  EXPECT_NEAR(confidence.mean_log_probability(), (1 - std::log(2 + std::exp(1.0)) - std::log(3.0)) / 2, 1e-6);
  EXPECT_NEAR(WeightOfLogProbability(std::log(0.25)), 0.25, 1e-15);
}

TEST(Confidence, WithoutTokensBothAreZero) {
  EXPECT_EQ(TextConfidence().mean_log_probability(), 0);
  EXPECT_EQ(TextConfidence().self_certainty(), 0);
}

// As the papers write them: the mean of log p(token), and -1/(nV) of the sum of log(V p(j)) over all tokens j of the vocabulary.
TEST(Confidence, FiguresMatchThePapersFormulas) {
  SeededRandom random(5);
  const int vocabulary = 37, count = 11;
  TextConfidence confidence;
  double log_probability = 0, certainty = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<float> logits(vocabulary);
    double sum = 0;
    for (float& logit : logits) sum += std::exp(double{logit = random.Uniform(-9, 6)});
    const TokenId token = static_cast<TokenId>(random.Below(vocabulary));
    confidence.Add(token, logits);
    log_probability += std::log(std::exp(double{logits[static_cast<size_t>(token)]}) / sum);
    for (const float logit : logits) certainty -= std::log(vocabulary * std::exp(double{logit}) / sum);
  }
  EXPECT_NEAR(confidence.mean_log_probability(), log_probability / count, 1e-6);
  EXPECT_NEAR(confidence.self_certainty(), certainty / (count * vocabulary), 1e-6);
}

TEST(Confidence, SelfCertaintyIsZeroOfAUniformDistributionAndGrowsWithTheMargin) {
  TextConfidence uniform, some, more;
  uniform.Add(0, std::vector<float>(8, 3.f));
  std::vector<float> logits(8, 0.f);
  logits[2] = 2;
  some.Add(0, logits);
  logits[2] = 9;
  more.Add(0, logits);
  EXPECT_NEAR(uniform.self_certainty(), 0, 1e-6);
  EXPECT_GT(some.self_certainty(), 0.1);
  EXPECT_GT(more.self_certainty(), some.self_certainty());
}

TEST(Confidence, ANanMakesFiguresThatAreNone) {
  TextConfidence confidence;
  confidence.Add(0, std::vector<float>{1.f, std::numeric_limits<float>::quiet_NaN(), 0.f});
  EXPECT_TRUE(std::isnan(confidence.mean_log_probability()));
  EXPECT_TRUE(std::isnan(confidence.self_certainty()));
}

}  // namespace
}  // namespace tessera
