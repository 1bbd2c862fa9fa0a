#include "tessera/runtime/session/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/spec/drafters/calibrated_tree.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// Notes what it is given to learn.
class Learner : public Drafter {
 public:
  struct Learnt {
    std::vector<TokenId> text;
    int first = -1;
    std::vector<TopTokens> top;
  };
  explicit Learner(Learnt* learnt) : learnt_(learnt) {}
  absl::string_view name() const override { return "learner"; }
  DrafterNeeds needs() const override { return {.top_of_prompt = 4}; }
  void Begin(absl::Span<const TokenId> text) override { *learnt_ = {.text = {text.begin(), text.end()}}; }
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override {
    learnt_->first = first;
    learnt_->top.assign(top.begin(), top.end());
  }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override { return absl::OkStatus(); }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {}
  int64_t bytes() const override { return 0; }

 private:
  Learnt* const learnt_;
};

const Sampler& Greedy() {
  static const Sampler& sampler = *new Sampler(Must(Sampler::Create({.temperature = 0})));
  return sampler;
}

TEST(Prompt, HeaderExample) {
  const auto engine = TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}, .cache = {.context = 2048}});
  const auto session = Must(engine->NewSession());
  const std::vector<TokenId> prompt = RandomTokens(400, 3);
  Speculator speculator(std::make_unique<CalibratedTree>(), {});
  Generation result;
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(AppendPrompt(*session, &speculator, prompt));
    ASSIGN_OR_RETURN(result, Generate(*session, Greedy(), {.max_tokens = 30, .ignore_end = true, .speculator = &speculator}));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(speculator.prompt().tokens, 400);
  EXPECT_GT(speculator.prompt().learnt, 0);
  const auto plain = Must(engine->NewSession());
  Must(plain->Append(prompt));
  EXPECT_EQ(result.tokens, Must(Generate(*plain, Greedy(), {.max_tokens = 30, .ignore_end = true})).tokens);
}

class AppendingAPrompt : public ::testing::Test {
 protected:
  const std::unique_ptr<Engine> engine_ =
      TinyEngine({.seed = 9}, {.compute = {.threads = 2, .row_capacity = 48}, .cache = {.context = 2048}});
  Learner::Learnt learnt_;
  Speculator speculator_{std::make_unique<Learner>(&learnt_), {}};
};

TEST_F(AppendingAPrompt, ChangesNoBit) {
  for (const int size : {1, 47, 48, 49, 200}) {
    const std::vector<TokenId> tokens = RandomTokens(size, size);
    const auto plain = Must(engine_->NewSession()), learning = Must(engine_->NewSession());
    Must(plain->Append(tokens));
    Must(AppendPrompt(*learning, &speculator_, tokens));
    EXPECT_EQ(plain->tokens(), learning->tokens());
    EXPECT_TRUE(std::equal(plain->logits().begin(), plain->logits().end(), learning->logits().begin(), learning->logits().end())) << size;
  }
}

TEST_F(AppendingAPrompt, GivesTheModelsTopTokensAtTheChosenPlaces) {
  const std::vector<TokenId> first = RandomTokens(120, 1), second = RandomTokens(150, 2);
  std::vector<TokenId> text = first;
  text.insert(text.end(), second.begin(), second.end());
  const auto session = Must(engine_->NewSession()), plain = Must(engine_->NewSession());
  Must(AppendPrompt(*session, &speculator_, first));
  Must(AppendPrompt(*session, &speculator_, second));
  std::vector<TopTokens> expected(text.size());
  Must(plain->AppendEach(text, [&](int index, absl::Span<const float> logits) {
    expected[index] = TopTokensOf(logits, 4);
    return absl::OkStatus();
  }));
  text.push_back(7);
  speculator_.Begin(text);
  EXPECT_EQ(learnt_.first, 0);
  ASSERT_EQ(learnt_.top.size(), 270u);
  int known = 0;
  for (size_t place = 0; place < learnt_.top.size(); ++place) {
    if (learnt_.top[place].empty()) continue;
    ++known;
    ASSERT_EQ(learnt_.top[place].size(), 4u);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(learnt_.top[place][i].token, expected[place][i].token);
      EXPECT_EQ(learnt_.top[place][i].probability, expected[place][i].probability);
    }
  }
  EXPECT_EQ(known, RowsToLearn(engine_->config(), 120) + RowsToLearn(engine_->config(), 150));
  EXPECT_EQ(speculator_.prompt().learnt, known);
  EXPECT_EQ(speculator_.prompt().tokens, 270);
}

TEST_F(AppendingAPrompt, LearnsNothingFromAPromptThatFails) {
  const auto session = Must(engine_->NewSession());
  std::vector<TokenId> tokens = RandomTokens(100, 1);
  tokens[90] = engine_->config().vocabulary;
  EXPECT_EQ(AppendPrompt(*session, &speculator_, tokens).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->length(), 0);
  speculator_.Begin(RandomTokens(200, 1));
  EXPECT_EQ(learnt_.first, -1);
}

TEST_F(AppendingAPrompt, WithoutASpeculatorIsAppend) {
  const auto session = Must(engine_->NewSession());
  Must(AppendPrompt(*session, nullptr, RandomTokens(10, 1)));
  EXPECT_EQ(session->length(), 10);
  Must(AppendPrompt(*session, &speculator_, {}));
  EXPECT_EQ(session->length(), 10);
  EXPECT_FALSE(session->logits().empty());
}

TEST(AStreamedPrompt, LearnsWithoutReadingMoreOfItsFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows from engine to engine, and no budget fits the next";
  const std::string gguf = RealModelPath("smollm2");
  if (gguf.empty()) FAIL() << RealModelMissing("smollm2");
  const PackedModel packed(gguf);
  EngineOptions options = {.model_path = packed.path(),
                           .compute = {.threads = 2, .row_capacity = 40},
                           .cache = {.context = 512},
                           .workload = {.logit_rows = 1 + Session::kLogitRows}};
  options.streaming.memory_budget = Must(Must(Engine::Open(options))->planner().PlanBudget(int64_t{1} << 40)).least + (int64_t{8} << 20);
  options.streaming.pin = PinPolicy::kNone;
  const auto engine = Must(Engine::Load(options));
  const auto bytes_of = [&](Speculator* speculator) {
    const int64_t before = engine->model().streamer()->stats().bytes_read;
    const auto session = Must(engine->NewSession());
    for (int prompt = 0; prompt < 4; ++prompt) Must(AppendPrompt(*session, speculator, RandomTokens(60, prompt)));
    return engine->model().streamer()->stats().bytes_read - before;
  };
  Learner::Learnt learnt;
  Speculator speculator(std::make_unique<Learner>(&learnt), {});
  const int64_t plain = bytes_of(nullptr), learning = bytes_of(&speculator);
  EXPECT_LE(learning, plain + engine->model().streamer()->stats().ring_bytes);  // What is read ahead differs.
  EXPECT_GT(plain, 7 * engine->model().streamer()->stats().streamed_bytes);
  speculator.Begin(RandomTokens(241, 9));
  EXPECT_EQ(speculator.prompt().tokens, 240);
  EXPECT_EQ(speculator.prompt().learnt, 4 * RowsToLearn(engine->config(), 60));
}

TEST(RowsToLearn, TakeTheShareOfMultiplications) {
  ModelConfig config = {.width = 10, .feed_forward = 20, .heads = 2, .kv_heads = 1, .head_size = 5, .vocabulary = 90};
  config.layers.resize(3);   // 90 * 10 multiplications each, the head as many as one.
  EXPECT_EQ(RowsToLearn(config, 1000), 45);
  EXPECT_EQ(RowsToLearn(config, 0), 0);
  config.vocabulary = 900;
  EXPECT_EQ(RowsToLearn(config, 1000), 4);
}

TEST(PlacesToLearn, AreTheLastOfTheTokensThatComeMostOften) {
  EXPECT_EQ(PlacesToLearn({{1, 2, 3, 1, 2, 4, 1}}, 0, 9), (std::vector<int>{2, 4, 5, 6}));
  EXPECT_EQ(PlacesToLearn({{1, 2, 3, 1, 2, 4, 1}}, 0, 1), (std::vector<int>{6}));
  EXPECT_EQ(PlacesToLearn({{1, 2, 3, 1, 2, 4, 1}}, 0, 3), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(PlacesToLearn({{1, 2, 3, 1, 2, 4, 1}}, 5, 9), (std::vector<int>{5, 6}));
  EXPECT_TRUE(PlacesToLearn({}, 0, 9).empty());
  EXPECT_TRUE(PlacesToLearn({{1, 2}}, 0, 0).empty());
}

}  // namespace
}  // namespace tessera
