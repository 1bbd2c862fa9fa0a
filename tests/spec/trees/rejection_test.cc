#include "tessera/spec/trees/rejection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/trees/verify.h"
#include "tessera/tests/fakes/chi_square.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr int kVocabulary = 6;
constexpr int64_t kRuns = 40000;

std::vector<float> RandomTarget(SeededRandom& random) {
  std::vector<float> target(kVocabulary);
  for (float& probability : target) probability = random.Below(5) == 0 ? 0 : random.Uniform(0.05f, 1);
  target[random.Below(kVocabulary)] += 0.5f;
  return target;
}

TopTokens RandomCandidates(int count, SeededRandom& random) {
  TopTokens top;
  float left = 1;
  for (TokenId token = 0; token < count; ++token) {
    top.push_back({(token * 5 + 1) % kVocabulary, left * random.Uniform(0.1f, 0.9f)});   // 5 and 6 have no common divisor.
    left -= top.back().probability;
  }
  return top;
}

std::vector<double> DistributionOf(const std::vector<float>& weights) {
  double sum = 0;
  for (const float weight : weights) sum += weight;
  std::vector<double> distribution;
  for (const float weight : weights) distribution.push_back(weight / sum);
  return distribution;
}

TEST(Rejection, HeaderExample) {
  const TopTokens candidates = {{3, 0.6f}, {1, 0.3f}};
  const std::vector<float> target = {0.1f, 0.2f, 0.1f, 0.6f};
  TokenTree tree(0);
  tree.Add(TokenTree::kRoot, 3, 0.6f);
  Verification verification(tree);
  const auto run = [&]() -> absl::Status {
    const DrawKey key = {.seed = 7, .stream = 0, .position = 120};
    const DrawnChildren drawn = DrawChildren(candidates, {.temperature = 0.8, .children = 2}, key);
    EXPECT_EQ(drawn.tokens.size(), 2u);
    ASSIGN_OR_RETURN(const TokenId token, RejectionToken(target, drawn, key));
    verification.Next({token});
    return absl::OkStatus();
  };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(verification.Take().emitted.size(), 1u);
}

// For one child (a chain) and several (a tree), at any temperature of the draft, the distribution is the target's.
TEST(Rejection, TheDistributionIsTheTargets) {
  SeededRandom random(1);
  for (int trial = 0; trial < 12; ++trial) {
    const std::vector<float> target = RandomTarget(random);
    const TopTokens candidates = RandomCandidates(1 + trial % kVocabulary, random);
    const DraftSampling sampling = {.temperature = 0.5 + 0.5 * (trial % 3), .children = 1 + trial % 4};
    std::vector<int64_t> counts(kVocabulary);
    for (int64_t run = 0; run < kRuns; ++run) {
      const DrawKey key = {.seed = 5, .stream = static_cast<uint64_t>(trial), .position = run};
      counts[Must(RejectionToken(target, DrawChildren(candidates, sampling, key), key))] += 1;
    }
    EXPECT_LT(ChiSquare(counts, DistributionOf(target)), MostChiSquare(kVocabulary)) << trial;
  }
}

// The test above can fail: it does for a tree that leaves out what it does not like, and for likeliest tokens taken for drawn ones.
TEST(Rejection, RulesThatAreWrongAreFound) {
  const std::vector<float> target = {0.5f, 0.5f};
  const TopTokens candidates = {{0, 0.6f}, {1, 0.4f}};
  std::vector<int64_t> by_looks(2), likeliest(2);
  for (int64_t run = 0; run < kRuns; ++run) {
    const DrawKey key = {.seed = 6, .stream = 0, .position = run};
    DrawnChildren drawn = DrawChildren(candidates, {}, key);
    if (drawn.tokens[0] == 1) drawn.tokens.clear();
    by_looks[Must(RejectionToken(target, drawn, key))] += 1;
    drawn.tokens = {0};
    likeliest[Must(RejectionToken(target, drawn, key))] += 1;
  }
  EXPECT_GT(ChiSquare(by_looks, {0.5, 0.5}), 10 * MostChiSquare(2));
  EXPECT_GT(ChiSquare(likeliest, {0.5, 0.5}), 10 * MostChiSquare(2));
}

TEST(Rejection, AChainIsAcceptedAsOftenAsTheDistributionsOverlap) {
  SeededRandom random(2);
  const std::vector<float> target = RandomTarget(random);
  const TopTokens candidates = RandomCandidates(4, random);
  int64_t accepted = 0;
  for (int64_t run = 0; run < kRuns; ++run) {
    const DrawKey key = {.seed = 8, .stream = 1, .position = run};
    const DrawnChildren drawn = DrawChildren(candidates, {}, key);
    accepted += Must(RejectionToken(target, drawn, key)) == drawn.tokens[0] ? 1 : 0;
  }
  double overlap = 0;
  const std::vector<double> distribution = DistributionOf(target);
  for (const TopToken& entry : DrawChildren(candidates, {}, {}).distribution) {
    overlap += std::min<double>(entry.probability, distribution[entry.token]);
  }
  EXPECT_NEAR(static_cast<double>(accepted) / kRuns, overlap, 0.015);
}

TEST(Rejection, ChildrenAreDrawnFromTheirDistributionInOrder) {
  const TopTokens candidates = {{0, 0.45f}, {1, 0.36f}, {2, 0.09f}, {3, 0}};
  const std::vector<double> distribution = {0.5, 0.4, 0.1};
  std::vector<int64_t> first(3), pairs(9);
  for (int64_t run = 0; run < kRuns; ++run) {
    const DrawnChildren drawn = DrawChildren(candidates, {.children = 3}, {.seed = 9, .stream = 0, .position = run});
    ASSERT_EQ(drawn.tokens.size(), 3u);   // The fourth has no probability.
    first[drawn.tokens[0]] += 1;
    pairs[3 * drawn.tokens[0] + drawn.tokens[1]] += 1;
  }
  std::vector<double> of_pairs(9);
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) of_pairs[3 * a + b] = a == b ? 0 : distribution[a] * distribution[b] / (1 - distribution[a]);
  }
  EXPECT_LT(ChiSquare(first, distribution), MostChiSquare(3));
  EXPECT_LT(ChiSquare(pairs, of_pairs), MostChiSquare(6));
}

TEST(Rejection, DrawsAreFunctionsOfSeedStreamAndPosition) {
  SeededRandom random(3);
  const TopTokens candidates = RandomCandidates(6, random);
  const DraftSampling sampling = {.children = 6};
  const DrawKey key = {.seed = 1, .stream = 2, .position = 3};
  const std::vector<TokenId> tokens = DrawChildren(candidates, sampling, key).tokens;
  EXPECT_EQ(DrawChildren(candidates, sampling, key).tokens, tokens);
  int same = 0;
  for (int i = 1; i <= 20; ++i) {
    const auto more = static_cast<uint64_t>(i);
    for (const DrawKey& other : {DrawKey{1 + more, 2, 3}, DrawKey{1, 2 + more, 3}, DrawKey{1, 2, 3 + i}}) {
      same += DrawChildren(candidates, sampling, other).tokens == tokens ? 1 : 0;
    }
  }
  EXPECT_LT(same, 20);
}

TEST(Rejection, ADraftThatIsRightIsAlwaysAccepted) {
  const TopTokens candidates = {{2, 0.5f}, {0, 0.25f}, {1, 0.25f}};
  const std::vector<float> target = {0.25f, 0.25f, 0.5f};
  for (int64_t run = 0; run < 1000; ++run) {
    const DrawKey key = {.seed = 4, .stream = 0, .position = run};
    const DrawnChildren drawn = DrawChildren(candidates, {}, key);
    EXPECT_EQ(Must(RejectionToken(target, drawn, key)), drawn.tokens[0]);
  }
}

TEST(Rejection, NothingDrawnIsSampledPlainly) {
  const std::vector<float> certain = {0, 0, 3, 0};
  EXPECT_EQ(Must(RejectionToken(certain, {}, {})), 2);
  EXPECT_TRUE(DrawChildren({}, {.children = 3}, {}).tokens.empty());
}

TEST(Rejection, NumbersThatAreNoDistributionAreRefused) {
  const auto refusal = [](std::vector<float> target, const DrawnChildren& drawn) {
    return std::string(RejectionToken(target, drawn, {}).status().message());
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal({}, {}), "rejection: found target probabilities of 0 for all 0 tokens, expected more than 0 for some");
  EXPECT_EQ(refusal({0, 0}, {}), "rejection: found target probabilities of 0 for all 2 tokens, expected more than 0 for some");
  EXPECT_EQ(refusal({1, -1}, {}), "rejection: found a target probability of -1, expected at least 0, and finite");
  EXPECT_EQ(refusal({1, nan}, {}), "rejection: found a target probability of nan, expected at least 0, and finite");
  EXPECT_EQ(refusal({1, 1}, {.distribution = {{2, 1}}, .tokens = {2}}), "rejection: found the draft's token 2, expected 0 to 1");
  EXPECT_EQ(refusal({1, 1}, {.distribution = {{-1, 1}}, .tokens = {}}), "rejection: found the draft's token -1, expected 0 to 1");
  EXPECT_EQ(refusal({1, 1}, {.distribution = {{1, nan}}, .tokens = {}}), "rejection: found probability nan, expected 0 to 1");
  EXPECT_EQ(refusal({1, 1}, {.distribution = {{1, 1}}, .tokens = {0}}),
            "rejection: found token 0 drawn, expected one that its distribution gives a probability");
  EXPECT_EQ(refusal({1, 1}, {.distribution = {{1, 1}}, .tokens = {1, 1}}), "rejection: found token 1 drawn twice, expected each once");
}

}  // namespace
}  // namespace tessera
