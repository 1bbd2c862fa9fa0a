#include "tessera/model/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kDraws = 20'000;

// Options with every filter off: what is left is temperature.
SamplingOptions Unfiltered() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .repetition_penalty = 1, .penalty_window = 64, .seed = 11};
}

Sampler Make(const SamplingOptions& options) {
  absl::StatusOr<Sampler> sampler = Sampler::Create(options);
  CHECK(sampler.ok()) << sampler.status();
  return *sampler;
}

TokenId Choose(const Sampler& sampler, const std::vector<float>& logits, uint64_t stream, uint64_t index,
               const std::vector<TokenId>& emitted = {}) {
  absl::StatusOr<TokenId> token = sampler.Choose(logits, emitted, stream, index);
  EXPECT_TRUE(token.ok()) << token.status();
  return token.ok() ? *token : -1;
}

std::vector<int> Counts(const SamplingOptions& options, const std::vector<float>& logits,
                        const std::vector<TokenId>& emitted = {}) {
  const Sampler sampler = Make(options);
  std::vector<int> counts(logits.size());
  for (int i = 0; i < kDraws; ++i) ++counts[Choose(sampler, logits, /*stream=*/3, i, emitted)];
  return counts;
}

std::set<TokenId> Drawn(const SamplingOptions& options, const std::vector<float>& logits,
                        const std::vector<TokenId>& emitted = {}) {
  const std::vector<int> counts = Counts(options, logits, emitted);
  std::set<TokenId> drawn;
  for (size_t id = 0; id < counts.size(); ++id) {
    if (counts[id] > 0) drawn.insert(static_cast<TokenId>(id));
  }
  return drawn;
}

// Sum of (found - expected)^2 / expected; a token that must not be drawn and was makes it infinite.
double ChiSquare(const std::vector<int>& counts, const std::vector<double>& probabilities) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * kDraws, difference = counts[i] - expected;
    if (difference != 0) sum += difference * difference / expected;
  }
  return sum;
}

std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + 5));  // A common shift means nothing.
  return logits;
}

std::vector<float> RandomLogits(size_t size, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = static_cast<float>(3 * random.Gaussian());
  return logits;
}

TEST(Sampler, HeaderExample) {
  const std::vector<float> logits = {1, 5, 2};
  const std::vector<TokenId> emitted = {2, 0};
  const uint64_t sample = 0;
  const auto choose = [&]() -> absl::StatusOr<TokenId> {
    absl::StatusOr<Sampler> sampler = Sampler::Create({.temperature = 0.7f, .seed = 42});
    if (!sampler.ok()) return sampler.status();
    return sampler->Choose(logits, emitted, /*stream=*/sample, /*index=*/emitted.size());
  };
  EXPECT_EQ(*choose(), 1);
}

TEST(Sampler, DrawsByProbability) {
  const std::vector<double> probabilities = {0.05, 0.3, 0.15, 0.4, 0.1};
  // 18.47 is exceeded once in a thousand seeds by 4 degrees of freedom; this seed is fixed.
  EXPECT_LT(ChiSquare(Counts(Unfiltered(), LogitsOf(probabilities)), probabilities), 18.47);
}

TEST(Sampler, TemperatureIsThePowerOfTheProbabilities) {
  const std::vector<double> probabilities = {0.05, 0.3, 0.15, 0.4, 0.1};
  for (const float temperature : {0.5f, 2.0f}) {
    std::vector<double> heated;
    double sum = 0;
    for (const double p : probabilities) heated.push_back(std::pow(p, 1 / temperature)), sum += heated.back();
    for (double& p : heated) p /= sum;
    SamplingOptions options = Unfiltered();
    options.temperature = temperature;
    EXPECT_LT(ChiSquare(Counts(options, LogitsOf(probabilities)), heated), 18.47) << temperature;
  }
}

TEST(Sampler, TemperatureZeroIsTheLargestLogitAndTiesGoToTheLowestId) {
  SamplingOptions options = Unfiltered();
  options.temperature = 0;
  const Sampler sampler = Make(options);
  EXPECT_EQ(Choose(sampler, {1, 7, -2, 7, 3}, 0, 0), 1);
  std::vector<float> logits = RandomLogits(5000, 1);  // Several chunks and a rest.
  logits[4999] = 100;
  EXPECT_EQ(Choose(sampler, logits, 0, 0), 4999);
  logits[257] = 100;
  EXPECT_EQ(Choose(sampler, logits, 0, 0), 257);
  logits[256] = kInfinity;
  EXPECT_EQ(Choose(sampler, logits, 0, 0), 256);
}

TEST(Sampler, AVanishingTemperatureIsGreedyToo) {
  SamplingOptions options = Unfiltered();
  options.temperature = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Drawn(options, {1, 2, 3, 2.999f}), std::set<TokenId>{2});
}

TEST(Sampler, TopKLeavesTheLargestAndTheLowerIdOfEquals) {
  SamplingOptions options = Unfiltered();
  options.top_k = 3;
  EXPECT_EQ(Drawn(options, {1, 2, 1.5f, 2, 1, 1.5f}), (std::set<TokenId>{1, 2, 3}));
  options.top_k = 1;
  EXPECT_EQ(Drawn(options, {1, 2, 1.5f, 2, 1, 1.5f}), std::set<TokenId>{1});
}

TEST(Sampler, TopKOfAWholeVocabularyAgreesWithASort) {
  const std::vector<float> logits = RandomLogits(1500, 2);
  std::vector<float> sorted = logits;
  std::sort(sorted.begin(), sorted.end(), std::greater<float>());
  SamplingOptions options = Unfiltered();
  options.temperature = 1e6f;  // All that are left are about equally likely, so all are drawn.
  options.top_k = 50;
  const std::set<TokenId> drawn = Drawn(options, logits);
  EXPECT_EQ(drawn.size(), 50u);
  for (const TokenId id : drawn) EXPECT_GE(logits[id], sorted[49]);
}

TEST(Sampler, TopKZeroIsTheSameAsTheWholeVocabulary) {
  const std::vector<float> logits = RandomLogits(700, 3);
  SamplingOptions options = Unfiltered();
  options.top_p = 0.9f;
  const Sampler off = Make(options);
  options.top_k = 700;
  const Sampler whole = Make(options);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(Choose(off, logits, 0, i), Choose(whole, logits, 0, i));
}

TEST(Sampler, TopPLeavesTheFewestTokensThatReachTheShare) {
  const std::vector<float> logits = LogitsOf({0.1, 0.4, 0.2, 0.3});
  SamplingOptions options = Unfiltered();
  options.top_p = 0.3f;
  EXPECT_EQ(Drawn(options, logits), std::set<TokenId>{1});
  options.top_p = 0.65f;
  EXPECT_EQ(Drawn(options, logits), (std::set<TokenId>{1, 3}));
  options.top_p = 0.75f;
  EXPECT_EQ(Drawn(options, logits), (std::set<TokenId>{1, 2, 3}));
  EXPECT_LT(ChiSquare(Counts(options, logits), {0, 4 / 9.0, 2 / 9.0, 3 / 9.0}), 13.82);  // 2 degrees of freedom, 1 in 1000.
}

TEST(Sampler, TopPSeesTheProbabilitiesThatTopKLeft) {
  SamplingOptions options = Unfiltered();
  options.top_k = 2;
  options.top_p = 0.55f;  // A share of 0.4 of all tokens would not reach it; of the two that are left it is 4/7.
  EXPECT_EQ(Drawn(options, LogitsOf({0.1, 0.4, 0.2, 0.3})), std::set<TokenId>{1});
}

TEST(Sampler, TopPDoesNotDependOnTemperature) {
  SamplingOptions options = Unfiltered();
  options.top_p = 0.65f;
  options.temperature = 100;
  EXPECT_EQ(Drawn(options, LogitsOf({0.1, 0.4, 0.2, 0.3})), (std::set<TokenId>{1, 3}));
}

TEST(Sampler, MinPLeavesTokensNearTheMostLikely) {
  const std::vector<float> logits = LogitsOf({0.1, 0.4, 0.2, 0.3});
  SamplingOptions options = Unfiltered();
  options.min_p = 0.45f;
  EXPECT_EQ(Drawn(options, logits), (std::set<TokenId>{1, 2, 3}));
  options.min_p = 0.55f;
  EXPECT_EQ(Drawn(options, logits), (std::set<TokenId>{1, 3}));
  options.min_p = 1;
  EXPECT_EQ(Drawn(options, logits), std::set<TokenId>{1});
}

TEST(Sampler, PenaltyDividesPositiveLogitsAndMultipliesNegativeOnes) {
  SamplingOptions options = Unfiltered();
  options.repetition_penalty = 2;
  // Logits 1, -1, 0.5, -2 become 0.5, -2, 0.5, -2; a token that occurs twice is penalized once.
  const std::vector<int> counts = Counts(options, {1, -1, 0.5f, -2}, {0, 1, 0});
  const double high = std::exp(0.5) / (2 * std::exp(0.5) + 2 * std::exp(-2.0)), low = 0.5 - high;
  EXPECT_LT(ChiSquare(counts, {high, low, high, low}), 16.27);  // 3 degrees of freedom, 1 in 1000.
}

TEST(Sampler, PenaltyReachesBackItsWindowAndNoFurther) {
  SamplingOptions options = Unfiltered();
  options.temperature = 0;
  options.repetition_penalty = 10;
  options.penalty_window = 2;
  const Sampler sampler = Make(options);
  const std::vector<float> logits = {5, 4, 3, 2};
  EXPECT_EQ(Choose(sampler, logits, 0, 0, {}), 0);
  EXPECT_EQ(Choose(sampler, logits, 0, 0, {0, 1}), 2);
  EXPECT_EQ(Choose(sampler, logits, 0, 0, {0, 1, 2}), 0);
  options.penalty_window = 0;
  EXPECT_EQ(Choose(Make(options), logits, 0, 0, {0, 1, 2}), 0);
}

TEST(Sampler, PenaltyActsAnywhereInALargeVocabularyBeforeTopK) {
  std::vector<float> logits(2000, 0.0f);
  const std::vector<TokenId> emitted = {1999, 0, 255, 256, 1023};
  for (const TokenId id : emitted) logits[id] = 50;
  logits[700] = 30;
  SamplingOptions options = Unfiltered();
  options.repetition_penalty = 5;
  options.top_k = 1;
  EXPECT_EQ(Drawn(options, logits, emitted), std::set<TokenId>{700});
  options.temperature = 0;
  EXPECT_EQ(Choose(Make(options), logits, 0, 0, emitted), 700);
}

TEST(Sampler, IsAFunctionOfSeedStreamAndIndexAlone) {
  const std::vector<float> logits = RandomLogits(1000, 4);
  const Sampler sampler = Make({.seed = 5}), same = Make({.seed = 5}), other = Make({.seed = 6});
  std::vector<TokenId> forward, backward, with_other_streams, other_seed, other_stream;
  for (int i = 0; i < 200; ++i) forward.push_back(Choose(sampler, logits, 1, i));
  for (int i = 199; i >= 0; --i) backward.push_back(Choose(same, logits, 1, i));
  std::reverse(backward.begin(), backward.end());
  for (int i = 0; i < 200; ++i) {
    other_stream.push_back(Choose(sampler, logits, 2, i));
    with_other_streams.push_back(Choose(sampler, logits, 1, i));
    other_seed.push_back(Choose(other, logits, 1, i));
  }
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward, with_other_streams);
  EXPECT_NE(forward, other_stream);
  EXPECT_NE(forward, other_seed);
}

TEST(Sampler, StreamsDrawIndependently) {
  const Sampler sampler = Make(Unfiltered());
  std::vector<int> pairs(4);
  for (int i = 0; i < kDraws; ++i) ++pairs[2 * Choose(sampler, {0, 0}, 0, i) + Choose(sampler, {0, 0}, 1, i)];
  EXPECT_LT(ChiSquare(pairs, {0.25, 0.25, 0.25, 0.25}), 16.27);
}

TEST(Sampler, TokensAreTheSameOnEveryMachine) {
  const std::vector<float> logits = RandomLogits(5000, 8);
  uint64_t digest = 0;
  const SamplingOptions penalized = {.top_k = 0, .repetition_penalty = 1.3f};
  for (const SamplingOptions& options : {SamplingOptions{}, Unfiltered(), penalized}) {
    const Sampler sampler = Make(options);
    std::vector<TokenId> emitted;
    for (int i = 0; i < 100; ++i) emitted.push_back(Choose(sampler, logits, 0, i, emitted));
    for (const TokenId token : emitted) digest = MixBits(digest ^ static_cast<uint64_t>(token));
  }
  EXPECT_EQ(digest, 2131244842729352153u);
}

TEST(Sampler, NeverChoosesANan) {
  const std::vector<float> logits = {kNaN, -3, kNaN, -kInfinity, -3.5f, -std::nanf("")};
  EXPECT_EQ(Drawn(Unfiltered(), logits), (std::set<TokenId>{1, 4}));
  EXPECT_EQ(Drawn({}, logits), (std::set<TokenId>{1, 4}));
  SamplingOptions greedy = {.temperature = 0};
  EXPECT_EQ(Choose(Make(greedy), logits, 0, 0), 1);
}

TEST(Sampler, InfiniteLogitsShareTheDraw) { EXPECT_EQ(Drawn({}, {1, kInfinity, 2, kInfinity}), (std::set<TokenId>{1, 3})); }

TEST(Sampler, LogitsWithoutANumberAreDataLoss) {
  for (const float temperature : {0.0f, 1.0f}) {
    for (const int top_k : {0, 2}) {
      SamplingOptions options = {.temperature = temperature, .top_k = top_k};
      const absl::Status status = Make(options).Choose(std::vector<float>{kNaN, -kInfinity, kNaN}, {}, 0, 0).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_EQ(std::string(status.message()),
                "logits are not numbers: found 3 that are NaN or -infinity, expected at least one that is not");
      EXPECT_FALSE(Make(options).Choose({}, {}, 0, 0).ok());
    }
  }
}

TEST(Sampler, RefusesEmittedTokensOutsideTheVocabulary) {
  const Sampler sampler = Make({.repetition_penalty = 1.1f});
  for (const TokenId token : {-1, 3}) {
    const absl::Status status = sampler.Choose(std::vector<float>{1, 2, 3}, std::vector<TokenId>{0, token}, 0, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()), absl::StrCat("emitted[1]: found token ", token, ", expected 0 <= token < 3"));
  }
}

void ExpectRefused(const SamplingOptions& options, const std::string& message) {
  const absl::Status status = Sampler::Create(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), message);
  EXPECT_EQ(FieldOf(status), message.substr(0, message.find(':')));
}

TEST(Sampler, RefusesOptionsOutOfRangeByTheirName) {
  ExpectRefused({.temperature = -0.5f}, "temperature: found -0.5, expected 0 <= temperature < infinity");
  ExpectRefused({.temperature = kNaN}, "temperature: found nan, expected 0 <= temperature < infinity");
  ExpectRefused({.temperature = kInfinity}, "temperature: found inf, expected 0 <= temperature < infinity");
  ExpectRefused({.top_k = -1}, "top_k: found -1, expected top_k >= 0 (0 is off)");
  ExpectRefused({.top_p = 2}, "top_p: found 2, expected 0 < top_p <= 1");
  ExpectRefused({.top_p = 0}, "top_p: found 0, expected 0 < top_p <= 1");
  ExpectRefused({.top_p = kNaN}, "top_p: found nan, expected 0 < top_p <= 1");
  ExpectRefused({.min_p = 1.5f}, "min_p: found 1.5, expected 0 <= min_p <= 1");
  ExpectRefused({.min_p = -0.1f}, "min_p: found -0.1, expected 0 <= min_p <= 1");
  ExpectRefused({.repetition_penalty = 0}, "repetition_penalty: found 0, expected 0 < repetition_penalty < infinity");
  ExpectRefused({.penalty_window = -1}, "penalty_window: found -1, expected penalty_window >= 0 (0 is off)");
}

}  // namespace
}  // namespace tessera
