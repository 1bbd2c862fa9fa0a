// Steps, answers and scorers on a modeled phone: what a sample more costs, and what it does not.
#include "tessera/apps/lab/papers/scaling/scaling_costs.h"

#include <gtest/gtest.h>

#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

KnownModels& Models() {
  static KnownModels models;
  return models;
}

const ScalingModel kModel = {"8gen3", "qwen2.5-1.5b"};

TEST(ScalingCosts, HeaderExample) {
  KnownModels models;
  ScalingCosts costs(Profiles(), models);
  const PassCost step = Must(costs.Step({"8gen3", "qwen2.5-1.5b"}, /*rows=*/8, /*positions=*/1024));
  const WorkCost answers = Must(costs.Answers({"8gen3", "qwen2.5-1.5b"}, /*samples=*/8));
  EXPECT_GT(step.seconds, 0.01);
  EXPECT_GT(answers.seconds, 0.9 * step.seconds * costs.assumptions().answer_tokens) << "about as many steps";
  EXPECT_GT(answers.joules, 0);
}

// A step's head is the CPU's, and has a row for each sample.
TEST(ScalingCosts, TheHeadIsTheCpusAndGrowsWithRows) {
  ScalingCosts costs(Profiles(), Models());
  const PassCost one = Must(costs.Step(kModel, 1, 1024)), many = Must(costs.Step(kModel, 16, 1024));
  EXPECT_GT(one.busy[static_cast<size_t>(Bound::kCpu)], 0);
  EXPECT_GT(many.busy[static_cast<size_t>(Bound::kCpu)], 1.5 * one.busy[static_cast<size_t>(Bound::kCpu)]);
  EXPECT_LT(many.layer_seconds, 1.1 * one.layer_seconds) << "rows of a tile are free";
}

TEST(ScalingCosts, AnswersCostTheSumOfTheirSteps) {
  ScalingCosts costs(Profiles(), Models(), {.prompt_tokens = 100, .answer_tokens = 3});
  for (const int samples : {1, 4}) {
    double seconds = 0;
    for (int written = 1; written <= 3; ++written) seconds += Must(costs.Step(kModel, samples, 100 + samples * written)).seconds;
    EXPECT_NEAR(Must(costs.Answers(kModel, samples)).seconds, seconds, 1e-12) << samples;
  }
}

TEST(ScalingCosts, OwnPositionsAloneCostLess) {
  ScalingCosts shared(Profiles(), Models()), own(Profiles(), Models(), {.all_samples = false});
  EXPECT_EQ(Must(own.Answers(kModel, 1)).seconds, Must(shared.Answers(kModel, 1)).seconds);
  EXPECT_LT(Must(own.Answers(kModel, 16)).seconds, Must(shared.Answers(kModel, 16)).seconds);
}

// A scorer reads what is there: tokens of a question once, and of each answer.
TEST(ScalingCosts, AScorerReadsEachAnswerAndTheQuestionOnce) {
  ScalingCosts costs(Profiles(), Models(), {.prompt_tokens = 512, .answer_tokens = 512});
  const double question = Must(costs.Scoring("8gen3", 1)).seconds / 2;   // Two passes of as many rows and positions.
  for (const int samples : {2, 8}) EXPECT_NEAR(Must(costs.Scoring("8gen3", samples)).seconds, question * (1 + samples), 1e-9) << samples;
  EXPECT_GT(Must(costs.Scoring("8gen3", 2)).joules, Must(costs.Scoring("8gen3", 1)).joules);
  EXPECT_GT(Must(costs.Prompt(kModel)).seconds, 0.9 * question) << "of the same shape, with the logits of one row";
}

TEST(ScalingCosts, UnknownPhonesAndShapesAreNotFound) {
  ScalingCosts costs(Profiles(), Models());
  EXPECT_TRUE(absl::IsNotFound(costs.Step({"9gen9", "qwen2.5-1.5b"}, 1, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(costs.Answers({"8gen3", "qwen9"}, 1).status()));
}

}  // namespace
}  // namespace tessera
