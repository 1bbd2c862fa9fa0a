#include "tessera/spec/costs/acceptance.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Acceptance, HeaderExample) {
  Acceptance acceptance;
  acceptance.Add({.estimate = 0.9f, .depth = 1}, /*accepted=*/false);
  EXPECT_NEAR(acceptance.Probability({.estimate = 0.9f, .depth = 1}), 0.53f, 0.01f);
}

TEST(Acceptance, AnEstimateCountsUntilThereAreOutcomes) {
  const Acceptance acceptance;
  for (const float estimate : {0.01f, 0.3f, 0.99f}) EXPECT_NEAR(acceptance.Probability({estimate, 3}), estimate, 1e-6f);
  EXPECT_LT(acceptance.Probability({1, 1}), 1);
}

TEST(Acceptance, SharesAreLearntOfEachClassAlone) {
  Acceptance acceptance;
  for (int i = 0; i < 400; ++i) {
    acceptance.Add({.estimate = 0.9f, .depth = 1}, i % 4 == 0);
    acceptance.Add({.estimate = 0.9f, .depth = 6}, i % 4 != 0);
  }
  EXPECT_NEAR(acceptance.Probability({0.9f, 1}), 0.25f, 0.03f);
  EXPECT_NEAR(acceptance.Probability({0.9f, 6}), 0.75f, 0.03f);
  EXPECT_NEAR(acceptance.Probability({0.9f, 3}), 0.5f, 0.03f);   // Nothing is known of this depth, but of the estimate.
  EXPECT_NEAR(acceptance.Probability({0.3f, 1}), 0.3f, 1e-6f);
}

TEST(Acceptance, OldOutcomesFade) {
  Acceptance acceptance;
  for (int i = 0; i < 1000; ++i) acceptance.Add({0.5f, 1}, true);
  for (int i = 0; i < 200; ++i) acceptance.Add({0.5f, 1}, false);
  EXPECT_LT(acceptance.Probability({0.5f, 1}), 0.15f);
}

TEST(Acceptance, AlwaysWrongIsKnownAfterEightGuesses) {
  Acceptance acceptance;
  for (int i = 0; i < 8; ++i) acceptance.Add({0.9f, 1}, false);
  EXPECT_LT(acceptance.Probability({0.9f, 1}), 0.1f);
}

}  // namespace
}  // namespace tessera
