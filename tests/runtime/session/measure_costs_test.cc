#include "tessera/runtime/session/measure_costs.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/ticking_clock.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(MeasureCosts, HeaderExample) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  CostProfile costs;
  Must(MeasureCosts(*session, {.seconds = 0.15}, costs));
  EXPECT_TRUE(costs.KnowsPlain());
  EXPECT_EQ(session->length(), 0);
}

TEST(MeasureCosts, LeavesTheSessionUnchanged) {
  const auto engine = TinyEngine({.seed = 2}, {.compute = {.threads = 1}});
  const std::vector<TokenId> text = RandomTokens(20, 3);
  const auto plain = Must(engine->NewSession());
  Must(plain->Append(text));
  const auto measured = Must(engine->NewSession());
  CostProfile costs;
  Must(MeasureCosts(*measured, {}, costs));
  EXPECT_TRUE(measured->logits().empty());
  Must(measured->Append(text));
  for (size_t i = 0; i < plain->logits().size(); ++i) ASSERT_EQ(plain->logits()[i], measured->logits()[i]);
}

TEST(MeasureCosts, LeavesALiveSessionUnchanged) {
  const auto engine = TinyEngine({.seed = 2}, {.compute = {.threads = 1}, .cache = {.context = 40}});
  const std::vector<TokenId> text = RandomTokens(20, 3), more = RandomTokens(20, 4);
  for (const int room : {20, 3, 1, 0}) {   // Fewer rows than would be measured; none.
    const auto plain = Must(engine->NewSession());
    Must(plain->Append(text));
    Must(plain->Append({more.data(), static_cast<size_t>(20 - room)}));
    const std::vector<float> logits(plain->logits().begin(), plain->logits().end());
    CostProfile costs;
    Must(MeasureCosts(*plain, {.seconds = 0.05}, costs));
    EXPECT_EQ(costs.KnowsPlain(), room > 0);
    EXPECT_EQ(plain->length(), 40 - room);
    ASSERT_EQ(plain->logits().size(), logits.size());
    for (size_t i = 0; i < logits.size(); ++i) ASSERT_EQ(plain->logits()[i], logits[i]) << i;
  }
}

TEST(MeasureCosts, ACancelEndsTheMeasurementAndLeavesTheSession) {
  std::atomic<bool> cancel = false;
  const auto engine = TinyEngine({.seed = 2}, {.compute = {.threads = 1}, .cancel = &cancel});
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(20, 3)));
  cancel = true;
  CostProfile costs;
  EXPECT_TRUE(absl::IsCancelled(MeasureCosts(*session, {}, costs)));
  EXPECT_EQ(session->length(), 20);
  cancel = false;
  Must(session->Append({{1}}));
}

// A pass is one look at the clock before it and one after it, so with any number of rows it takes a tick.
TEST(MeasureCosts, PassesAndLogitsTakeTheTimeOfTheGivenClock) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  const TickingClock clock(1'000'000);
  CostProfile costs;
  Must(MeasureCosts(*session, {.seconds = 10, .clock = &clock}, costs));
  for (const int rows : {1, 4, 16}) EXPECT_NEAR(costs.PassSeconds({.rows = rows}), 0.001, 1e-9) << rows;
  for (const int rows : {1, 4}) EXPECT_NEAR(costs.HeadSeconds(rows), 0.001, 1e-9) << rows;
}

TEST(MeasureCosts, NoPassBeginsThatWouldEndTooLateByTheGivenClock) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  const TickingClock clock(1'000'000'000);
  CostProfile costs;
  Must(MeasureCosts(*session, {.seconds = 0.9, .clock = &clock}, costs));
  EXPECT_FALSE(costs.KnowsPlain()) << "a second has passed when the first would begin";
}

TEST(MeasureCosts, WithoutTimeNothingIsMeasured) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  CostProfile costs;
  Must(MeasureCosts(*session, {.seconds = 0}, costs));
  EXPECT_FALSE(costs.KnowsPlain());
}

TEST(MeasureCosts, MeasuresNothingForFrozenCosts) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  CostProfile costs;
  costs.Freeze();
  Must(MeasureCosts(*session, {}, costs));
  EXPECT_FALSE(costs.KnowsPlain());
}

// What is read while rows are computed makes them free; a model whose weights all fit the budget reads nothing.
TEST(MeasureCosts, OnlyOfAModelThatReadsItsWeightsAreRowsTakenToBeFree) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows, and no budget fits";
  const PackedModel packed(TinyModelBuilder({.layers = 8, .writes_letters = true}));
  for (const PinPolicy pin : {PinPolicy::kAuto, PinPolicy::kNone}) {
    const auto engine = Must(Engine::Load({.model_path = packed.path(),
                                           .compute = {.threads = 1},
                                           .cache = {.context = 64},
                                           .streaming = {.memory_budget = int64_t{1} << 30, .pin = pin}}));
    const auto session = Must(engine->NewSession());
    CostProfile costs;
    Must(MeasureCosts(*session, {.seconds = 0.05}, costs));
    EXPECT_EQ(engine->model().streams(), pin == PinPolicy::kNone);
    EXPECT_EQ(costs.KnowsPlain(), !engine->model().streams());
  }
}

}  // namespace
}  // namespace tessera
