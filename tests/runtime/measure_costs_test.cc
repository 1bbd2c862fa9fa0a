#include "tessera/runtime/measure_costs.h"

#include <gtest/gtest.h>

#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(MeasureCosts, HeaderExample) {
  const auto engine = TinyEngine({}, {.threads = 1});
  const auto session = Must(engine->NewSession());
  CostProfile costs;
  Must(MeasureCosts(*engine, *session, {.seconds = 0.15}, costs));
  EXPECT_TRUE(costs.KnowsPlain());
  EXPECT_EQ(session->length(), 0);
}

TEST(MeasureCosts, LeavesTheSessionAsItWas) {
  const auto engine = TinyEngine({.seed = 2}, {.threads = 1});
  const std::vector<TokenId> text = RandomTokens(20, 3);
  const auto plain = Must(engine->NewSession());
  Must(plain->Append(text));
  const auto measured = Must(engine->NewSession());
  CostProfile costs;
  Must(MeasureCosts(*engine, *measured, {}, costs));
  EXPECT_TRUE(measured->logits().empty());
  Must(measured->Append(text));
  for (size_t i = 0; i < plain->logits().size(); ++i) ASSERT_EQ(plain->logits()[i], measured->logits()[i]);
}

TEST(MeasureCosts, MeasuresNothingForFrozenCosts) {
  const auto engine = TinyEngine({}, {.threads = 1});
  const auto session = Must(engine->NewSession());
  CostProfile costs;
  costs.Freeze();
  Must(MeasureCosts(*engine, *session, {}, costs));
  EXPECT_FALSE(costs.KnowsPlain());
}

}  // namespace
}  // namespace tessera
