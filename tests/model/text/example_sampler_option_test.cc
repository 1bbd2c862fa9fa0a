// The step that docs/adding_a_sampler_option.md links to: it works before a Sampler, and the places that the document
// names know an option that is there.
#include "tessera/tests/model/text/example_sampler_option.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tessera/model/text/sampler.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/linked_example.h"

namespace tessera {
namespace {

constexpr char kGuide[] = "docs/adding_a_sampler_option.md";

// Tokens that 2000 draws give after the step.
std::set<TokenId> DrawnWithin(std::vector<float> logits, float sigmas) {
  KeepWithinSigmas(absl::MakeSpan(logits), sigmas);
  const Sampler sampler =
      Must(Sampler::Create({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .repetition_penalty = 1, .seed = 3}));
  std::set<TokenId> drawn;
  for (uint64_t i = 0; i < 2000; ++i) drawn.insert(Must(sampler.Choose(logits, {}, /*stream=*/0, /*index=*/i)));
  return drawn;
}

TEST(ExampleSamplerOption, IsLinkedFromTheGuide) {
  EXPECT_TRUE(LinksToExample(kGuide, "tests/model/text/example_sampler_option.h"));
}

// Mean 2, deviation 1.414...: one deviation below the largest is 2.586.
TEST(ExampleSamplerOption, OnlyTokensWithinADeviationOfTheLikeliestAreDrawn) {
  EXPECT_EQ(DrawnWithin({0, 1, 2, 3, 4}, 1), (std::set<TokenId>{3, 4}));
  EXPECT_EQ(DrawnWithin({0, 1, 2, 3, 4}, 0.5f), (std::set<TokenId>{4}));
}

TEST(ExampleSamplerOption, OffLeavesEveryToken) { EXPECT_EQ(DrawnWithin({0, 1, 2, 3, 4}, 0), (std::set<TokenId>{0, 1, 2, 3, 4})); }

TEST(ExampleSamplerOption, ValuesThatAreNoNumbersStayWhatTheyAre) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> logits = {-infinity, 5, std::numeric_limits<float>::quiet_NaN(), 1, 5};
  KeepWithinSigmas(absl::MakeSpan(logits), 1);
  EXPECT_EQ(logits[0], -infinity);
  EXPECT_EQ(logits[1], 5);
  EXPECT_TRUE(std::isnan(logits[2]));
  EXPECT_EQ(logits[3], -infinity);
  EXPECT_EQ(logits[4], 5);
}

// The guide's steps name files in backticks, each of which knows min_p, the option that the guide takes as its model.
TEST(ExampleSamplerOption, EveryFileOfTheGuidesStepsKnowsMinP) {
  const std::string guide = TextOfSource(kGuide);
  int named = 0;
  for (const absl::string_view line : absl::StrSplit(guide, '\n')) {
    if (!absl::StartsWith(line, "| `")) continue;
    const std::string path(line.substr(3, line.find('`', 3) - 3));
    EXPECT_TRUE(absl::StrContains(TextOfSource(path), "min_p")) << path;
    ++named;
  }
  EXPECT_GE(named, 10);
}

}  // namespace
}  // namespace tessera
