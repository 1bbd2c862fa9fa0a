// tessera_bench batch on a small random model: what it counts, what it compares, and what it cannot measure.
#include "tessera/apps/bench/batch/batch_speed.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/batch/batch_speed_text.h"
#include "tessera/apps/bench/batch/texts_together.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> SmallEngine(int context, const std::atomic<bool>* cancel = nullptr) {
  return TinyEngine({.layers = 1, .writes_letters = true},
                    {.compute = {.threads = 1}, .cache = {.context = context}, .workload = {.sessions = 9}, .cancel = cancel});
}

TEST(TextsTogether, HeaderExample) {
  const auto engine = SmallEngine(1024);
  const std::vector<TokenId> prompt = {1, 2, 3};
  CostProfile costs;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> texts, TextsTogether::Create(*engine, costs));
    for (int i = 0; i < 8; ++i) texts->Add(prompt, {.max_tokens = 4, .ignore_end = true});
    ASSIGN_OR_RETURN(TimedStep step, texts->Step());
    EXPECT_GT(step.prompt_rows, 0);
    while (step.texts < 8) {
      ASSIGN_OR_RETURN(step, texts->Step());
    }
    EXPECT_GT(step.tokens / step.seconds, 0);
    EXPECT_EQ(step.tokens, 8) << "one each";
    ASSIGN_OR_RETURN(const int steps, texts->StepUntil([&] { return texts->text(7).ended; }));
    EXPECT_GE(steps, 1);
    EXPECT_EQ(texts->text(0).token_seconds.size(), 4u);
    EXPECT_GE(texts->text(0).token_seconds[0], texts->text(0).begin_seconds);
    return absl::OkStatus();
  };
  Must(run());
}

TEST(TextsTogether, AreCountedOnlyWhileAllAreWrittenAndNoPromptIsRead) {
  const auto engine = SmallEngine(1024);
  CostProfile costs;
  const std::vector<std::vector<TokenId>> prompts = {RandomTokens(5, 1), RandomTokens(300, 2), RandomTokens(7, 3)};
  const SteadyRate rate = Must(WriteTogether(*engine, costs, {.texts = 3, .tokens = 10, .prompts = prompts, .ignore_end = true}));
  EXPECT_EQ(rate.tokens, 3 * rate.steps) << "one each in every step";
  EXPECT_GE(rate.tokens, 30);
  EXPECT_LT(rate.tokens, 36);
  EXPECT_GT(rate.seconds, 0);
}

TEST(TextsTogether, AnEndedTextIsFollowedByAnotherAndEachHasASpeculatorOfItsOwn) {
  const auto engine = SmallEngine(1024);
  CostProfile costs;
  int made = 0;
  const std::vector<std::vector<TokenId>> prompts = {RandomTokens(5, 1), RandomTokens(6, 2)};
  const SteadyRate rate = Must(WriteTogether(*engine, costs, {.texts = 2, .tokens = 40, .prompts = prompts, .ignore_end = true,
                                                              .make_speculator = [&]() -> absl::StatusOr<std::unique_ptr<Speculator>> {
                                                                ++made;
                                                                std::vector<std::unique_ptr<Drafter>> drafters =
                                                                  Must(DrafterRegistry::BuiltIn().Make("lookup", {1024, kTinyVocabulary}));
                                                                return std::make_unique<Speculator>(std::move(drafters),
                                                                                                    Speculator::Options{.costs = &costs});
                                                              }}));
  EXPECT_GE(made, 2);
  EXPECT_LE(made, 16);
  EXPECT_GE(rate.tokens, 2 * rate.steps);
}

TEST(TextsTogether, WithoutRoomForAllThereIsNoRateButAnErrorOfTheCache) {
  const auto engine = SmallEngine(64);
  CostProfile costs;
  const std::vector<std::vector<TokenId>> prompts = {RandomTokens(40, 1), RandomTokens(40, 2)};
  const absl::Status status = WriteTogether(*engine, costs, {.texts = 2, .tokens = 4, .prompts = prompts, .ignore_end = true}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(LimitOf(status), "cache_tokens");
}

TEST(TextsTogether, ACancelEndsThem) {
  std::atomic<bool> cancel = false;
  const auto engine = SmallEngine(256, &cancel);
  CostProfile costs;
  const auto texts = Must(TextsTogether::Create(*engine, costs));
  texts->Add({1, 2}, {.max_tokens = 50, .ignore_end = true});
  Must(texts->Step());
  cancel = true;
  EXPECT_TRUE(absl::IsCancelled(texts->Step().status()));
}

BatchSpeed SmallSpeed() {
  BatchSpeed speed = {.cache_tokens = 512};
  speed.together = {{1, {90, 100, 110}, 0.010, 0.0095}, {8, {380, 400, 420}, 0.020, 0.016}};
  speed.categories = {{"chat", 8, 5, 2, 400, 500, 1.25, 1.5}};
  speed.gaps = {{.texts = 8, .gaps = 80, .median = 0.020, .high = 0.022, .longest = 0.030},
                {.texts = 8, .prompt_tokens = 4000, .gaps = 160, .median = 0.036, .high = 0.044, .longest = 0.050, .prompt_seconds = 0.8,
                 .prompt_passes = 20}};
  speed.first_tokens = {{0, 512, 0.1}, {8, 512, 0.25}};
  return speed;
}

TEST(BatchSpeed, RatiosStandBesideTheTimes) {
  const std::string text = BatchSpeedText(SmallSpeed());
  for (const char* part : {"    8     400.0        20.00     16.00         1.25         2.00\n",
                           "chat             8         400.0    500.0  1.25", "5 of 7",
                           "8 texts, a prompt of 4000 beside   36.00  44.00    50.00             1.80           2.20      800.00",
                           "after 512 tokens, 8 texts beside  250.00      2.50"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
}

TEST(BatchSpeed, AFigureWithoutAReferenceHasNoRatio) {
  BatchSpeed speed = SmallSpeed();
  speed.together.erase(speed.together.begin());
  speed.gaps[1].gaps = 0;   // All texts had ended.
  JsonWriter json;
  WriteBatchSpeed(json, speed);
  const JsonValue batch = Json(json.text());
  EXPECT_TRUE(absl::StrContains(json.text(), "\"of_one_text\":null")) << json.text();
  EXPECT_TRUE(absl::StrContains(json.text(), "\"median_of_alone\":null,\"percentile_95_of_alone\":null,\"prompt_seconds\":0.8"));
  EXPECT_EQ(batch.Array("categories")->size(), 1);
}

// A model of letters, whose texts never end.
class BenchBatch : public testing::Test {
 protected:
  BenchBatch() { TinyModelBuilder({.layers = 1, .context = 4096, .writes_letters = true}).WriteTo(folder_.Path("model.gguf")); }

  Ended Run(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--model=" + folder_.Path("model.gguf"), "--threads=1"});
    return RunProgram("tessera_bench batch", flags);
  }

  const TemporaryFolder folder_;
  const std::vector<std::string> short_ = {"--together=1,3", "--writers=2", "--generate_tokens=4", "--prompt_tokens=8", "--long_prompt=40",
                                           "--repetitions=2"};
};

TEST_F(BenchBatch, MeasuresEachNumberOfTextsAndGapsAndFirstTokensBesideOthers) {
  std::vector<std::string> flags = short_;
  flags.insert(flags.end(), {"--speculate=none", "--json"});
  const Ended ended = Run(flags);
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue batch = *Json(ended.output).Object("batch");
  const JsonValue together = *batch.Array("together"), gaps = *batch.Array("gaps"), first = *batch.Array("first_tokens");
  ASSERT_EQ(together.size(), 2);
  EXPECT_EQ(*together[1].Int("texts"), 3);
  for (const char* name : {"step_seconds", "pass_seconds", "of_pass", "of_one_text"}) EXPECT_GT(*together[1].Double(name), 0) << name;
  EXPECT_GT(*together[1].Object("tokens_per_second")->Double("median"), 0);
  ASSERT_EQ(gaps.size(), 4);
  for (const int which : {0, 2}) {
    const int64_t texts = *gaps[which].Int("texts");
    EXPECT_EQ(texts, 1 + which / 2);
    EXPECT_EQ(*gaps[which].Int("gaps"), texts * 4 * 2) << "tokens x repetitions";
    EXPECT_EQ(*gaps[which].Int("prompt_tokens"), 0);
    EXPECT_EQ(*gaps[which + 1].Int("prompt_tokens"), 40);
    EXPECT_GE(*gaps[which + 1].Double("prompt_passes"), 1);
    EXPECT_GT(*gaps[which + 1].Double("prompt_seconds"), 0);
    EXPECT_LE(*gaps[which].Double("median"), *gaps[which].Double("percentile_95"));
    EXPECT_LE(*gaps[which].Double("percentile_95"), *gaps[which].Double("longest"));
  }
  ASSERT_EQ(first.size(), 3) << "beside none, one and two";
  EXPECT_EQ(batch.Array("categories")->size(), 0);
  EXPECT_GT(*batch.Object("memory_bytes")->Int("cache"), 0);
}

TEST_F(BenchBatch, WritesCategoriesOfPromptsWithAndWithoutDrafts) {
  std::vector<std::string> flags = short_;
  flags.insert(flags.end(), {"--speculate=lookup", absl::StrCat("--data=", TESSERA_SOURCE_DIR, "/tests/data/speculation"),
                             "--categories=gsm8k,code", "--context=3000", "--long_prompt=0", "--json"});
  const Ended ended = Run(flags);
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue batch = *Json(ended.output).Object("batch"), categories = *batch.Array("categories");
  ASSERT_EQ(categories.size(), 4);
  for (int64_t i = 0; i < categories.size(); ++i) {
    EXPECT_EQ(*categories[i].String("name"), i < 2 ? "gsm8k" : "code");
    EXPECT_EQ(*categories[i].Int("texts"), 1 + i % 2);
    EXPECT_GT(*categories[i].Double("plain_tokens_per_second"), 0);
    EXPECT_GE(*categories[i].Double("tokens_per_pass"), 1);
  }
  EXPECT_EQ(batch.Array("gaps")->size(), 2) << "no prompt is read beside";
}

TEST_F(BenchBatch, CategoriesThatDoNotFitAreLeftOutAndNamed) {
  std::vector<std::string> flags = short_;
  flags.insert(flags.end(), {"--speculate=lookup", absl::StrCat("--data=", TESSERA_SOURCE_DIR, "/tests/data/speculation"),
                             "--categories=summarization", "--context=300"});
  const Ended ended = Run(flags);
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, "--categories: summarization is left out: all its prompts have more than 294 tokens"))
      << ended.errors;
  EXPECT_FALSE(absl::StrContains(ended.output, "with drafts")) << ended.output;
}

TEST_F(BenchBatch, RefusesFlagsThatCannotBeMeasured) {
  const auto error = [&](const std::vector<std::string>& more) {
    std::vector<std::string> flags = short_;
    flags.push_back("--speculate=none");
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = Run(flags);
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(ended.output, "");
    return ended.errors;
  };
  EXPECT_TRUE(absl::StrContains(error({"--together=8,1"}), "--together: found"));
  EXPECT_TRUE(absl::StrContains(error({"--together=65"}), "--together: found"));
  EXPECT_TRUE(absl::StrContains(error({"--writers=0"}), "--writers: found 0"));
  EXPECT_TRUE(absl::StrContains(error({"--data=x"}), "--data: found with --speculate=none"));
  EXPECT_TRUE(absl::StrContains(error({"--categories=chat"}), "--categories: found with --speculate=none"));
  EXPECT_TRUE(absl::StrContains(error({"--speculate=guess"}), "--speculate: drafter: found \"guess\""));
  EXPECT_TRUE(absl::StrContains(error({"--context=8"}), "--context"));
}

}  // namespace
}  // namespace tessera
