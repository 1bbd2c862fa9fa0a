#include "tessera/runtime/chat/parallel_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> EngineFor(const ParallelOptions& parallel, EngineOptions options = {}) {
  options.compute.threads = 2;
  if (options.cache.context == 0) options.cache.context = 256;
  Must(PlanParallel(parallel, options));
  return TinyEngine({.layers = 2, .writes_letters = true}, options);
}

// The answer that is written alone, in an engine of its own.
Generation Alone(const NewAnswer& asked) {
  const auto engine = EngineFor({});
  const AnswererOptions options = {.sampling = asked.sampling, .stop = asked.stop, .speculation = {.speculate = "none"}};
  Answerer answerer = Must(Answerer::Create(*engine, options));
  AnswerOptions answer = {.max_tokens = asked.max_tokens, .starts_text = asked.starts_text, .stream = asked.stream};
  if (asked.first.has_value()) answer.first = asked.first->token;
  return Must(answerer.Run(asked.prompt, answer));
}

NewAnswer Number(int number) {
  return {.prompt = RandomTokens(3 + 11 * number % 30, number),
          .sampling = {.temperature = number % 3 == 0 ? 0.0f : 0.9f, .seed = static_cast<uint64_t>(number)},
          .max_tokens = 5 + 7 * number % 20};
}

TEST(ParallelAnswers, HeaderExample) {
  struct Question { std::vector<TokenId> tokens; };
  const std::vector<Question> questions = {{{1, 2, 3}}, {{4, 5}}};
  int shown = 0;
  const auto Show = [&](const absl::StatusOr<TimedAnswer>& answer) { shown += answer.ok() ? 1 : 0; };
  EngineOptions engine_options = {.compute = {.threads = 1}, .cache = {.context = 256}};
  const auto run = [&]() -> absl::Status {
    ParallelOptions options = {.texts = 8};
    RETURN_IF_ERROR(PlanParallel(options, engine_options));
    const auto engine = TinyEngine({.writes_letters = true}, engine_options);
    ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers, ParallelAnswers::Create(*engine, options));
    for (const Question& question : questions) {
      answers->Add({.prompt = question.tokens, .max_tokens = 64, .on_end = [&](auto& answer) { Show(answer); }});
    }
    RETURN_IF_ERROR(answers->Run());
    return answers->Save();
  };
  Must(run());
  EXPECT_EQ(shown, 2);
}

TEST(ParallelAnswers, EachIsTheAnswerThatIsWrittenAlone) {
  constexpr int kAnswers = 9;
  for (const std::string speculate : {"none", "auto"}) {
    for (const int texts : {1, 3, 8}) {
      const ParallelOptions options = {.texts = texts, .speculation = {.speculate = speculate}};
      const auto engine = EngineFor(options);
      const auto answers = Must(ParallelAnswers::Create(*engine, options));
      std::vector<TimedAnswer> ended(kAnswers);
      std::vector<std::string> shown(kAnswers);
      for (int i = 0; i < kAnswers; ++i) {
        NewAnswer asked = Number(i);
        asked.on_text = [&, i](absl::string_view text) { shown[i].append(text.data(), text.size()); };
        asked.on_end = [&, i](const absl::StatusOr<TimedAnswer>& answer) { ended[i] = Must(answer); };
        answers->Add(std::move(asked));
      }
      EXPECT_EQ(answers->unended(), kAnswers);
      Must(answers->Run());
      EXPECT_EQ(answers->unended(), 0);
      EXPECT_LE(answers->report().most_texts, texts);
      int64_t tokens = 0;
      for (int i = 0; i < kAnswers; ++i) {
        const Generation alone = Alone(Number(i));
        EXPECT_EQ(ended[i].text.tokens, alone.tokens) << i << ", " << texts << " texts, " << speculate;
        EXPECT_EQ(ended[i].text.text, alone.text);
        EXPECT_EQ(shown[i], alone.text);
        EXPECT_EQ(ended[i].text.reason, alone.reason);
        EXPECT_GE(ended[i].first_token_seconds, 0);
        EXPECT_GE(ended[i].seconds, ended[i].first_token_seconds);
        tokens += static_cast<int64_t>(alone.tokens.size());
      }
      EXPECT_EQ(answers->timings().output_tokens, tokens);
      EXPECT_EQ(answers->timings().timed_tokens, tokens - kAnswers);
      EXPECT_EQ(answers->timings().speculation.has_value(), speculate != "none");
    }
  }
}

TEST(ParallelAnswers, ToOnePromptDifferByStreamAndShareThePrompt) {
  constexpr int kAnswers = 5;
  const ParallelOptions options = {.texts = kAnswers};
  const auto engine = EngineFor(options);
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  const NewAnswer asked = {.prompt = RandomTokens(60, 1), .sampling = {.temperature = 1, .seed = 5}, .max_tokens = 12};
  std::set<std::vector<TokenId>> written;
  for (uint64_t stream = 0; stream < kAnswers; ++stream) {
    NewAnswer answer = asked;
    answer.stream = stream;
    answer.on_end = [&, alone = answer](const absl::StatusOr<TimedAnswer>& ended) {
      EXPECT_EQ(Must(ended).text.tokens, Alone(alone).tokens) << alone.stream;
      written.insert(ended->text.tokens);
    };
    answers->Add(std::move(answer));
  }
  Must(answers->Run());
  EXPECT_EQ(written.size(), static_cast<size_t>(kAnswers));
  EXPECT_LT(answers->timings().prompt_tokens, 2 * 60) << "computed once";
}

// Four at once: the other two begin when there is room for them, and read no more of the prompt.
TEST(ParallelAnswers, MayBeginWithTheLikeliestTokensAndReadTheirPromptOnce) {
  constexpr int kAnswers = 6, kPrompt = 60;
  for (const std::string speculate : {"none", "auto"}) {
    for (const float temperature : {0.0f, 1.0f}) {
      const ParallelOptions options = {.texts = 4, .speculation = {.speculate = speculate}};
      const auto engine = EngineFor(options);
      const auto answers = Must(ParallelAnswers::Create(*engine, options));
      const NewAnswer asked = {.prompt = RandomTokens(kPrompt, 1), .sampling = {.temperature = temperature, .seed = 5}, .max_tokens = 12};
      std::vector<TimedAnswer> ended;
      std::set<TokenId> begun;
      int64_t tokens = 0;
      answers->AskFirstTokens(asked.prompt, /*adapter=*/nullptr, kAnswers, [&](const absl::StatusOr<std::vector<FirstToken>>& firsts) {
        for (uint64_t stream = 0; stream < Must(firsts).size(); ++stream) {
          NewAnswer answer = asked;
          answer.stream = stream;
          answer.first = (*firsts)[stream];
          answer.on_end = [&, alone = answer](const absl::StatusOr<TimedAnswer>& end) {
            ended.push_back(Must(end));
            begun.insert(end->text.tokens[0]);
            tokens += static_cast<int64_t>(end->text.tokens.size());
            EXPECT_EQ(end->text.tokens, Alone(alone).tokens) << alone.first->token;
            EXPECT_EQ(end->text.tokens[0], alone.first->token);
            EXPECT_EQ(end->first->token, alone.first->token);
          };
          answers->Add(std::move(answer));
        }
      });
      EXPECT_EQ(answers->unended(), 1);
      Must(answers->Run());
      EXPECT_EQ(answers->unended(), 0);
      EXPECT_EQ(ended.size(), static_cast<size_t>(kAnswers));
      EXPECT_EQ(begun.size(), static_cast<size_t>(kAnswers));
      EXPECT_EQ(answers->report().prompt_rows, kPrompt + kAnswers);
      EXPECT_EQ(answers->timings().output_tokens, tokens) << "reading wrote nothing";
    }
  }
}

TEST(ParallelAnswers, AWrongPromptIsReportedInPlaceOfFirstTokens) {
  const ParallelOptions options = {.texts = 2};
  const auto engine = EngineFor(options);
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  std::vector<absl::Status> told(3, absl::UnknownError("not told"));
  const std::vector<TokenId> prompts[] = {{}, RandomTokens(300, 1), {1, 2}};
  for (size_t i = 0; i < told.size(); ++i) {
    answers->AskFirstTokens(prompts[i], /*adapter=*/nullptr, /*count=*/i == 2 ? 1000 : 2,
                            [&told, i](const absl::StatusOr<std::vector<FirstToken>>& firsts) { told[i] = firsts.status(); });
  }
  Must(answers->Run());
  EXPECT_EQ(told[0].message(), "prompt: found no tokens, expected at least 1");
  EXPECT_TRUE(absl::StrContains(told[1].message(), "prompt: found 300 tokens, expected at most 256")) << told[1];
  EXPECT_TRUE(absl::StrContains(told[2].message(), "found a count of 1000, expected at most 264")) << told[2];
  EXPECT_EQ(answers->unended(), 0);
}

TEST(ParallelAnswers, OneThatIsWrongIsAnErrorOfItsOwn) {
  const ParallelOptions options = {.texts = 2};
  const auto engine = EngineFor(options);
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  std::vector<absl::Status> ended(4, absl::UnknownError("not ended"));
  const auto add = [&](int number, NewAnswer asked) {
    asked.on_end = [&, number](const absl::StatusOr<TimedAnswer>& answer) { ended[number] = answer.status(); };
    answers->Add(std::move(asked));
  };
  add(0, {.prompt = {}});
  add(1, {.prompt = RandomTokens(300, 1)});
  add(2, {.prompt = {1, 2}, .sampling = {.temperature = -1}});
  add(3, Number(3));
  Must(answers->Run());
  EXPECT_EQ(ended[0].message(), "prompt: found no tokens, expected at least 1");
  EXPECT_TRUE(absl::StrContains(ended[1].message(), "prompt: found 300 tokens, expected at most 256")) << ended[1];
  EXPECT_TRUE(absl::StrContains(ended[2].message(), "temperature: found -1")) << ended[2];
  EXPECT_TRUE(ended[3].ok()) << ended[3];
}

TEST(ParallelAnswers, ACallbackMayAddTheNext) {
  const ParallelOptions options = {.texts = 2};
  const auto engine = EngineFor(options);
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  int written = 0;
  std::function<void(const absl::StatusOr<TimedAnswer>&)> next = [&](const absl::StatusOr<TimedAnswer>& answer) {
    Must(answer);
    if (++written >= 5) return;
    NewAnswer asked = Number(written);
    asked.on_end = next;
    answers->Add(std::move(asked));
  };
  next(TimedAnswer());
  Must(answers->Run());
  EXPECT_EQ(written, 5);
}

// The first is written, the second is not wanted any more while it is, the third before it has begun.
TEST(ParallelAnswers, ThatAreCancelledEndAndTheOthersDoNot) {
  const ParallelOptions options = {.texts = 2, .speculation = {.speculate = "none"}};
  const auto engine = EngineFor(options);
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  std::vector<Generation> ended(4);
  std::vector<AnswerId> ids;
  int tokens = 0;
  for (size_t i = 0; i < ended.size(); ++i) {
    NewAnswer asked = Number(static_cast<int>(i) + 4);
    asked.max_tokens = 20;
    if (i == 1) {
      asked.on_token = [&](TokenId, absl::Span<const float> logits) {
        EXPECT_FALSE(logits.empty());
        if (++tokens == 5) answers->Cancel(ids[1]), answers->Cancel(ids[2]);
      };
    }
    asked.on_end = [&, i](const absl::StatusOr<TimedAnswer>& answer) { ended[i] = Must(answer).text; };
    ids.push_back(answers->Add(std::move(asked)));
  }
  Must(answers->Run());
  EXPECT_EQ(answers->unended(), 0);
  EXPECT_EQ(ended[1].reason, FinishReason::kCancelled);
  EXPECT_GE(ended[1].tokens.size(), 5u);
  EXPECT_LT(ended[1].tokens.size(), 20u);
  EXPECT_EQ(ended[2].reason, FinishReason::kCancelled);
  EXPECT_TRUE(ended[2].tokens.empty());
  for (const size_t i : {size_t{0}, size_t{3}}) {
    NewAnswer asked = Number(static_cast<int>(i) + 4);
    asked.max_tokens = 20;
    EXPECT_EQ(ended[i].tokens, Alone(asked).tokens) << i;
  }
  answers->Cancel(ids[0]);   // It has ended.
  EXPECT_FALSE(Must(answers->Step()));
}

TEST(ParallelAnswers, AWaitingAnswerThatIsCancelledEndsWithoutAPlace) {
  const ParallelOptions options = {.texts = 1, .speculation = {.speculate = "none"}};
  const auto engine = EngineFor(options);
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  std::vector<int> ended;
  std::vector<AnswerId> ids;
  for (int i = 0; i < 2; ++i) {
    NewAnswer asked = Number(i + 4);
    asked.max_tokens = 20;
    asked.on_end = [&ended, i](const absl::StatusOr<TimedAnswer>& answer) {
      EXPECT_EQ(Must(answer).text.reason, i == 0 ? FinishReason::kLength : FinishReason::kCancelled);
      ended.push_back(i);
    };
    ids.push_back(answers->Add(std::move(asked)));
  }
  Must(answers->Step());
  answers->Cancel(ids[1]);
  Must(answers->Step());
  EXPECT_EQ(ended, std::vector<int>{1}) << "the other one is being written";
  Must(answers->Run());
  EXPECT_EQ(ended, (std::vector<int>{1, 0}));
}

TEST(ParallelAnswers, ACancelledEngineEndsThemAndTheHistoryDoesNotHaveThem) {
  std::atomic<bool> cancel{false};
  const TemporaryFolder folder;
  const ParallelOptions options = {.texts = 2, .speculation = {.history = "test", .history_folder = folder.Path("history")}};
  const auto engine = EngineFor(options, {.cancel = &cancel});
  const auto answers = Must(ParallelAnswers::Create(*engine, options));
  std::vector<FinishReason> reasons;
  const auto add = [&](int tokens) {
    NewAnswer asked = {.prompt = RandomTokens(4, tokens), .sampling = {.temperature = 0}, .max_tokens = tokens};
    asked.on_end = [&](const absl::StatusOr<TimedAnswer>& answer) {
      reasons.push_back(Must(answer).text.reason);
      cancel = true;   // The others are not done.
    };
    answers->Add(std::move(asked));
  };
  add(3);
  add(200);
  Must(answers->Run());
  Must(answers->Step());
  EXPECT_EQ(reasons, (std::vector<FinishReason>{FinishReason::kLength, FinishReason::kCancelled}));
  EXPECT_EQ(answers->speculation()->history()->tokens(), 3 + 1) << "the first, and what stands behind it";
}

TEST(ParallelAnswers, APlanHasRoomForAllOfThem) {
  const auto planned = [](int texts, const std::string& speculate, CacheOptions cache = {.context = 2048}) {
    EngineOptions options = {.compute = {.threads = 1}, .cache = cache};
    Must(PlanParallel({.texts = texts, .speculation = {.speculate = speculate}}, options));
    return options;
  };
  EXPECT_EQ(planned(4, "none").workload.sessions, 4);
  EXPECT_EQ(planned(4, "none").workload.logit_rows, 1 + 4);
  EXPECT_EQ(planned(4, "none").workload.least_logit_rows, 2);
  EXPECT_EQ(planned(4, "none").workload.drafting_bytes, nullptr);
  EXPECT_EQ(planned(4, "auto").workload.logit_rows, 1 + Session::kLogitRows);
  EXPECT_EQ(planned(4, "auto").workload.drafting_bytes(128, 256), 4 * planned(1, "auto").workload.drafting_bytes(128, 256));
  const auto slots = [&](int texts, CacheOptions cache) {
    return TinyEngine({.writes_letters = true}, planned(texts, "none", cache))->cache_tokens();
  };
  EXPECT_EQ(slots(1, {.context = 2048}), 2048);
  EXPECT_EQ(slots(2, {.context = 2048}), 2048);
  EXPECT_EQ(slots(8, {.context = 2048}), 8 * kUsualText);
  EXPECT_EQ(slots(8, {.context = 64}), 8 * 64) << "no text takes more than the context";
  EXPECT_EQ(slots(8, {.context = 2048, .cache_tokens = 2064}), 2064);
  EngineOptions none;
  EXPECT_EQ(FieldOf(PlanParallel({.texts = 0}, none)), "texts");
  EXPECT_EQ(FieldOf(PlanParallel({.texts = kMostTexts + 1}, none)), "texts");
}

TEST(ParallelAnswers, AnswersThatWouldBeTheSameAreRefused) {
  EXPECT_TRUE(CheckAnswersDiffer(1, {.temperature = 0}).ok());
  EXPECT_TRUE(CheckAnswersDiffer(3, {}).ok());
  EXPECT_EQ(CheckAnswersDiffer(3, {.temperature = 0}).message(),
            "answers: found 3 with temperature 0, expected 1, since all would be the same, or other sampling");
  EXPECT_TRUE(absl::StrContains(CheckAnswersDiffer(2, {.top_k = 1}).message(), "2 with top_k 1"));
  EXPECT_TRUE(absl::StrContains(CheckAnswersDiffer(2, {.min_p = 1}).message(), "2 with min_p 1"));
}

}  // namespace
}  // namespace tessera
