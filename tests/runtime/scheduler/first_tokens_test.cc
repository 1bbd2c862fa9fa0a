// Texts that begin with a token that is given: each is that of a separate run with this token, and the prompt is computed once for all.
#include "tessera/runtime/scheduler/first_tokens.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/lone_text.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/small_texts.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int kTexts = 8;
constexpr int kPrompt = 40;
constexpr int kTokens = 12;

TEST(LikeliestFirstTokens, HaveTheLargestLogitsAndOfEqualOnesTheLowestComesFirst) {
  const auto tokenizer = OpenTokenizer(SmallBytePair());
  std::vector<float> logits(kTinyVocabulary, -std::numeric_limits<float>::infinity());
  logits['c'] = logits['a'] = logits[kImStart] = 0;
  logits['q'] = std::numeric_limits<float>::quiet_NaN();
  logits['z'] = std::log(2.0f);
  logits[kImEnd] = std::log(5.0f);   // Likeliest of all, and it would end the text.
  const std::vector<FirstToken> firsts = Must(LikeliestFirstTokens(logits, *tokenizer, 4));
  const std::vector<TokenId> expected = {'z', 'a', 'c', kImStart};
  const std::vector<std::string> texts = {"z", "a", "c", "<|im_start|>"};
  ASSERT_EQ(firsts.size(), expected.size());
  for (size_t i = 0; i < firsts.size(); ++i) {
    EXPECT_EQ(firsts[i].token, expected[i]) << i;
    EXPECT_EQ(firsts[i].text, texts[i]) << i;
    EXPECT_NEAR(firsts[i].probability, i == 0 ? 0.2 : 0.1, 1e-6) << "among all of the vocabulary, ends included";
  }
  EXPECT_EQ(Must(LikeliestFirstTokens(logits, *tokenizer, 2))[1].token, 'a');
}

TEST(LikeliestFirstTokens, AreRefusedWhereThereAreFewer) {
  const auto tokenizer = OpenTokenizer(SmallBytePair());
  std::vector<float> logits(kTinyVocabulary, 0);
  const auto error = [&](int count) { return LikeliestFirstTokens(logits, *tokenizer, count).status(); };
  EXPECT_TRUE(error(kTinyVocabulary - 1).ok());
  EXPECT_EQ(error(kTinyVocabulary),
            absl::InvalidArgumentError("first tokens: found a count of 265, expected at most 264, which may begin a text"));
  EXPECT_FALSE(error(std::numeric_limits<int>::max()).ok());
  EXPECT_EQ(error(0), absl::InvalidArgumentError("first tokens: found a count of 0, expected 1 or more"));
  logits.assign(logits.size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(absl::IsDataLoss(error(1)));
}

class FirstTokens : public testing::Test {
 protected:
  FirstTokens() {
    TinyModelBuilder({.layers = 2, .writes_letters = true}).WriteTo(options_.model_path);
    alone_ = Must(Engine::Load(options_));
  }

  StreamOptions Text(float temperature) const {
    return {.prompt = RandomTokens(kPrompt, 3),
            .sampling = {.temperature = temperature, .repetition_penalty = 1.2f, .seed = 5},
            .text = {.max_tokens = kTokens, .ignore_end = true}};
  }

  // The separate run.
  LoneText Alone(const StreamOptions& options) const { return WriteAlone(*alone_, options); }

  // Text number i of those that begin differently.
  StreamOptions Number(int number, const StreamOptions& like) const {
    StreamOptions options = like;
    options.text.first = firsts_[static_cast<size_t>(number)].token;
    options.text.stream = static_cast<uint64_t>(number);
    return options;
  }

  void Submit(Stepper& stepper, StreamOptions options, LoneText& written, bool drafts) {
    if (drafts) {   // By half what will be written.
      auto drafter = std::make_unique<RandomDrafter>(kTinyVocabulary, speculators_.size(), Alone(options).tokens);
      speculators_.push_back(std::make_unique<Speculator>(std::move(drafter), Speculator::Options{.max_rows = 6, .weigh_costs = false}));
      options.text.speculator = speculators_.back().get();
    }
    options.text.on_token = [&](TokenId, absl::Span<const float> logits) { written.logits.push_back(DigestOf(logits)); };
    options.on_end = [&](const absl::StatusOr<Generation>& end) {
      written.tokens = Must(end).tokens;
      written.text = end->text;
      written.reason = end->reason;
    };
    stepper.Submit(std::move(options));
  }

  // All of them at once, behind one that reads the prompt.
  void ExpectAsAlone(Engine& engine, const StreamOptions& like, bool drafts) {
    const auto stepper = Must(Stepper::Create(engine, {}));
    std::vector<LoneText> written(kTexts);
    StreamOptions reader = FirstTokensStream(engine.tokenizer(), like.prompt, kTexts, [&](const auto& firsts) {
      firsts_ = Must(firsts);
      for (int i = 0; i < kTexts; ++i) Submit(*stepper, Number(i, like), written[static_cast<size_t>(i)], drafts);
    });
    reader.adapter = like.adapter;
    stepper->Submit(std::move(reader));
    Must(stepper->Run());
    report_ = stepper->report();
    for (int i = 0; i < kTexts; ++i) {
      const LoneText expected = Alone(Number(i, like));
      const LoneText& text = written[static_cast<size_t>(i)];
      EXPECT_EQ(text.tokens, expected.tokens) << i;
      EXPECT_EQ(text.logits, expected.logits) << i;
      EXPECT_EQ(text.text, expected.text) << i;
      EXPECT_EQ(text.reason, expected.reason) << i;
      EXPECT_EQ(text.tokens[0], firsts_[static_cast<size_t>(i)].token);
      for (int j = 0; j < i; ++j) EXPECT_NE(text.tokens[0], written[static_cast<size_t>(j)].tokens[0]) << i << " and " << j;
    }
  }

  const TemporaryFolder folder_;
  const EngineOptions options_ = {.model_path = folder_.Path("tiny.gguf"), .compute = {.threads = 2, .row_capacity = 32},
                                  .cache = {.context = 256, .cache_tokens = 2048}, .workload = {.sessions = kTexts}};
  std::unique_ptr<Engine> alone_;
  std::vector<FirstToken> firsts_;
  std::vector<std::unique_ptr<Speculator>> speculators_;
  StepperReport report_;
};

TEST_F(FirstTokens, HeaderExample) {
  const auto engine = Must(Engine::Load(options_));
  const auto stepper = Must(Stepper::Create(*engine, {}));
  const std::vector<TokenId> prompt = {1, 2, 3};
  int shown = 0;
  const auto Show = [&](const absl::StatusOr<Generation>& text) { shown += text.ok() ? 1 : 0; };
  const auto run = [&]() -> absl::Status {
    stepper->Submit(FirstTokensStream(engine->tokenizer(), prompt, /*count=*/8, [&](const auto& firsts) {
      if (!firsts.ok()) return;
      for (const FirstToken& first : *firsts) {
        stepper->Submit({.prompt = prompt, .text = {.max_tokens = 64, .first = first.token}, .on_end = Show});
      }
    }));
    RETURN_IF_ERROR(stepper->Run());
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(shown, 8);
}

TEST_F(FirstTokens, EachTextIsThatOfASeparateRunAndThePromptIsComputedOnce) {
  const LoraAdapter adapter = RandomAdapter(alone_->config(), /*rank=*/3, kAllTargets, /*seed=*/1);
  for (const float temperature : {0.0f, 0.9f}) {
    for (const LoraAdapter* const used : {static_cast<const LoraAdapter*>(nullptr), &adapter}) {
      for (const bool drafts : {false, true}) {
        SCOPED_TRACE(absl::StrCat("temperature ", temperature, used != nullptr ? ", adapter" : "", drafts ? ", drafts" : ""));
        const auto engine = Must(Engine::Load(options_));
        StreamOptions like = Text(temperature);
        like.adapter = used;
        ExpectAsAlone(*engine, like, drafts);
        EXPECT_EQ(report_.prompt_rows, kPrompt + kTexts) << "once, and its last token for each";
        EXPECT_EQ(report_.shared_tokens, kTexts * (kPrompt - 1));
      }
    }
  }
}

TEST_F(FirstTokens, AStreamedModelWritesTheSame) {
  const PackedModel packed(options_.model_path);
  EngineOptions streamed = options_;
  streamed.model_path = packed.path();
  streamed.streaming = {.memory_budget = int64_t{4} << 30, .pin = PinPolicy::kNone};
  const auto engine = Must(Engine::Load(streamed));
  ExpectAsAlone(*engine, Text(0.9f), /*drafts=*/true);
  EXPECT_EQ(report_.prompt_rows, kPrompt + kTexts);
}

TEST_F(FirstTokens, EveryPassHasOneRowOfEachTextThatHasNotEnded) {
  const auto engine = Must(Engine::Load(options_));
  const auto stepper = Must(Stepper::Create(*engine, {}));
  int ended = 0, written = 0;
  stepper->Submit(FirstTokensStream(engine->tokenizer(), Text(0).prompt, kTexts, [&](const auto& firsts) {
    firsts_ = Must(firsts);
    for (int i = 0; i < kTexts; ++i) {
      StreamOptions options = Number(i, Text(0));
      options.text.max_tokens = i + 1;
      options.on_end = [&](const absl::StatusOr<Generation>& end) {
        ++ended;
        written += static_cast<int>(Must(end).tokens.size());
      };
      stepper->Submit(std::move(options));
    }
  }));
  Must(stepper->Run());
  EXPECT_EQ(ended, kTexts);
  EXPECT_EQ(written, kTexts * (kTexts + 1) / 2);
  EXPECT_EQ(stepper->report().rows, kPrompt + kTexts + written - kTexts);
  EXPECT_EQ(stepper->report().most_texts, kTexts);
  const int prompt_passes = (kPrompt + 31) / 32;
  EXPECT_LE(stepper->report().passes, prompt_passes + 1 + kTexts - 1);
}

TEST_F(FirstTokens, AGreedyTextGoesOnAsAfterAPromptThatEndsWithTheToken) {
  StreamOptions longer = Text(0);
  longer.sampling.repetition_penalty = 1;
  for (const TokenId first : {TokenId{'k'}, TokenId{7}, TokenId{kImStart}}) {
    StreamOptions options = longer;
    options.text.first = first;
    const LoneText written = Alone(options);
    options.text.first = std::nullopt;
    options.prompt.push_back(first);
    options.text.max_tokens = kTokens - 1;
    LoneText expected = Alone(options);
    expected.tokens.insert(expected.tokens.begin(), first);
    EXPECT_EQ(written.tokens, expected.tokens);
    ASSERT_EQ(written.logits.size(), static_cast<size_t>(kTokens));
    EXPECT_EQ(std::vector<uint32_t>(written.logits.begin() + 1, written.logits.end()), expected.logits);
  }
}

// Its penalty and its place in the draws are those of a token that the sampler chose.
TEST_F(FirstTokens, TheTokenCountsAsWritten) {
  StreamOptions options = Text(1.5f);
  options.sampling.repetition_penalty = 3;
  options.sampling.top_k = 0;
  options.text.stream = 9;
  const Sampler sampler = Must(Sampler::Create(options.sampling));
  for (TokenId first = 'a'; first <= 'z'; ++first) {
    options.text.first = first;
    const auto session = Must(alone_->NewSession());
    Must(session->Append(options.prompt));
    Must(session->Append({first}));
    EXPECT_EQ(Alone(options).tokens[1], Must(sampler.Choose(session->logits(), {first}, /*stream=*/9, /*index=*/1))) << first;
  }
}

TEST_F(FirstTokens, TheTokenMayEndTheText) {
  struct Case { TokenId first; int max_tokens; std::vector<std::string> stop; std::string text; FinishReason reason; };
  const Case cases[] = {
      {kImEnd, 5, {}, "", FinishReason::kEndToken},
      {kImStart, 5, {"<|im_start|>"}, "", FinishReason::kStopString},
      {'b', 5, {"b"}, "", FinishReason::kStopString},
      {'b', 1, {}, "b", FinishReason::kLength},
  };
  const auto engine = Must(Engine::Load(options_));
  const auto stepper = Must(Stepper::Create(*engine, {}));
  for (const Case& each : cases) {
    StreamOptions options = Text(0.9f);
    options.text = {.max_tokens = each.max_tokens, .stop = each.stop, .first = each.first};
    const LoneText alone = Alone(options);
    LoneText written;
    Submit(*stepper, options, written, /*drafts=*/false);
    Must(stepper->Run());
    for (const LoneText& text : {alone, written}) {
      EXPECT_EQ(text.tokens, std::vector<TokenId>{each.first});
      EXPECT_EQ(text.text, each.text);
      EXPECT_EQ(text.reason, each.reason);
    }
  }
}

TEST_F(FirstTokens, OneOutsideTheVocabularyIsRefused) {
  const auto session = Must(alone_->NewSession());
  Must(session->Append({1, 2, 3}));
  const auto stepper = Must(Stepper::Create(*alone_, {}));
  const Sampler sampler = Must(Sampler::Create({.temperature = 0}));
  for (const TokenId wrong : {-1, kTinyVocabulary}) {
    const absl::Status expected =
        absl::InvalidArgumentError(absl::StrCat("first token: found ", wrong, ", expected 0 to ", kTinyVocabulary - 1));
    EXPECT_EQ(Generate(*session, sampler, {.max_tokens = 3, .first = wrong}).status(), expected);
    Answers answers;
    stepper->Submit({.prompt = {1, 2, 3}, .text = {.max_tokens = 3, .first = wrong}, .on_end = answers.Keep(0)});
    Must(stepper->Run());
    EXPECT_EQ(answers.errors[0], expected);
  }
  EXPECT_EQ(Must(Generate(*session, sampler, {.max_tokens = 3, .first = 'a'})).tokens.size(), 3u) << "the session goes on";
}

TEST_F(FirstTokens, ErrorsOfTheReaderAreReported) {
  const auto stepper = Must(Stepper::Create(*alone_, {}));
  const std::atomic<bool> cancelled{true};
  const auto told = [&](std::vector<TokenId> prompt, int count, const std::atomic<bool>* cancel) {
    int calls = 0;
    absl::Status status;
    StreamOptions reader = FirstTokensStream(alone_->tokenizer(), std::move(prompt), count, [&](const auto& firsts) {
      ++calls;
      status = firsts.status();
    });
    reader.cancel = cancel;
    stepper->Submit(std::move(reader));
    Must(stepper->Run());
    EXPECT_EQ(calls, 1);
    return status;
  };
  EXPECT_TRUE(told({1, 2, 3}, kTexts, nullptr).ok());
  EXPECT_EQ(told({}, kTexts, nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(told({1, 2, 3}, kTinyVocabulary, nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(told(RandomTokens(257, 1), kTexts, nullptr).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(told({1, 2, 3}, kTexts, &cancelled).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tessera
