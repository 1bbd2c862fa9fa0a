// A context that nobody asked for is no larger than a memory budget has room for.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr int kUsual = 4096;

// Packed, and trained for kUsual tokens.
const PackedModel& Model() {
  static const PackedModel* const model = new PackedModel(TinyModelBuilder({.context = kUsual}));
  return *model;
}

// Its process takes nothing, so that the plans of a test do not depend on what ran before.
EngineOptions OptionsFor(const std::string& model, int64_t budget, int context = 0) {
  EngineOptions options = {.model_path = model, .compute = {.threads = 1}, .cache = {.context = context}};
  options.streaming.memory_budget = budget;
  options.hooks = Hooks({.own_memory = 0});
  return options;
}

// The least budget with which they are not refused. REQUIRES: they ask for a context.
int64_t LeastFor(EngineOptions options) {
  int64_t low = 0, high = int64_t{1} << 40;   // Does not fit, and fits.
  options.streaming.memory_budget = high;
  const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (engine->planner().PlanBudget(middle).ok() ? high : low) = middle;
  }
  return high;
}
int64_t LeastFor(const std::string& model, int context) { return LeastFor(OptionsFor(model, 0, context)); }

TEST(FitContext, TheLargestMultipleOf256ThatTheBudgetHasRoomFor) {
  for (const std::string& model : {Model().path(), Model().gguf()}) {
    for (const int context : {256, 512, 768, 2048, 3840}) {
      for (const int64_t more : {0, 1}) {
        const std::unique_ptr<Engine> engine = Must(Engine::Open(OptionsFor(model, LeastFor(model, context) + more)));
        EXPECT_EQ(engine->context(), context) << model << more;
        EXPECT_EQ(engine->wanted_context(), kUsual);
        EXPECT_EQ(engine->cache_tokens(), context);
        EXPECT_TRUE(engine->planner().PlanBudget(engine->options().streaming.memory_budget).ok());
      }
      if (context == 256) continue;
      EXPECT_EQ(Must(Engine::Open(OptionsFor(model, LeastFor(model, context) - 1)))->context(), context - 256) << model;
    }
  }
}

TEST(FitContext, TheUsualContextIsKeptWhereTheBudgetHasRoom) {
  const int64_t enough = LeastFor(Model().path(), kUsual);
  for (const int64_t budget : {enough, 2 * enough, int64_t{0}}) {
    const std::unique_ptr<Engine> engine = Must(Engine::Open(OptionsFor(Model().path(), budget)));
    EXPECT_EQ(engine->context(), kUsual) << budget;
    EXPECT_EQ(engine->wanted_context(), kUsual);
  }
}

TEST(FitContext, ARequestedContextIsRefusedUnchanged) {
  const int64_t budget = LeastFor(Model().path(), 512);
  const std::unique_ptr<Engine> engine = Must(Engine::Open(OptionsFor(Model().path(), budget, 1024)));
  EXPECT_EQ(engine->context(), 1024);
  EXPECT_EQ(engine->wanted_context(), 1024);
  const absl::Status refused = engine->planner().PlanBudget(budget).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_TRUE(absl::StrContains(refused.message(), "keys and values for a context of 1024 tokens")) << refused;
}

TEST(FitContext, ABudgetWithoutRoomForTheLeastContextIsRefusedWithThatContext) {
  const std::unique_ptr<Engine> engine = Must(Engine::Open(OptionsFor(Model().path(), LeastFor(Model().path(), 256) - 1)));
  EXPECT_EQ(engine->wanted_context(), engine->context()) << "none was found, so none is told of";
  const absl::Status refused = engine->LoadWeights();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "keys and values for a context of 256 tokens")) << refused;
}

TEST(FitContext, TextsOfSeveralSessionsHaveRoomForEach) {
  EngineOptions options = OptionsFor(Model().path(), int64_t{1} << 40, 512);
  options.workload.sessions = 4;
  options.cache.text_share = 1024;
  options.streaming.memory_budget = LeastFor(options);
  options.cache.context = 0;
  const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
  EXPECT_EQ(engine->context(), 512);
  EXPECT_EQ(engine->cache_tokens(), 4 * engine->context());
}

TEST(FitContext, TextIsThatOfAContextThatWasAskedFor) {
  const int64_t budget = LeastFor(Model().path(), 512);
  std::vector<std::vector<float>> logits;
  for (const int context : {0, 512}) {
    const std::unique_ptr<Engine> engine = Must(Engine::Load(OptionsFor(Model().path(), budget, context)));
    const std::unique_ptr<Session> session = Must(engine->NewSession());
    const std::vector<TokenId> tokens(500, 7);
    Must(session->Append(tokens));
    logits.emplace_back(session->logits().begin(), session->logits().end());
    EXPECT_TRUE(absl::IsResourceExhausted(session->Append(tokens)));
  }
  EXPECT_EQ(logits[0], logits[1]);
}

}  // namespace
}  // namespace tessera
