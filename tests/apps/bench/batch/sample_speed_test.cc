// tessera_bench samples on a small random model: what it counts, what it compares, and what it cannot measure.
#include "tessera/apps/bench/batch/sample_speed.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/flash/share_budget.h"
#include "tessera/apps/bench/batch/row_pass.h"
#include "tessera/apps/bench/batch/sample_speed_text.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> SmallEngine(int context, int cache_tokens) {
  return TinyEngine({.layers = 1, .writes_letters = true}, {.compute = {.threads = 1},
                                                            .cache = {.context = context, .cache_tokens = cache_tokens},
                                                            .workload = {.sessions = 9}});
}

SampleSpeedOptions SmallOptions(const std::string& speculate) {
  return {.together = {1, 4}, .generate_tokens = 20, .repetitions = 2, .speculate = speculate, .prompts = {RandomTokens(30, 1)}};
}

TEST(SampleSpeed, EachWayIsMeasuredAndWritesTheSameSamples) {
  const auto engine = SmallEngine(128, 1024);
  const SampleSpeed speed = Must(MeasureSamples(*engine, SmallOptions("lookup,suffix")));
  EXPECT_EQ(speed.difference, "");
  ASSERT_EQ(speed.rows.size(), 2u);
  for (const SampleSpeed::Row& row : speed.rows) {
    EXPECT_EQ(row.samples, &row == &speed.rows[0] ? 1 : 4);
    EXPECT_GT(row.step_seconds, 0);
    EXPECT_GT(row.pass_seconds, 0);
    EXPECT_GT(row.of_pass, 0);
    EXPECT_GT(row.tokens_per_second.min, 0);
    ASSERT_TRUE(row.apart.has_value() && row.shared.has_value());
    for (const auto& drafted : {row.apart, row.shared}) {
      EXPECT_GE(drafted->tokens_per_pass, 1);
      EXPECT_GT(drafted->gain, 0);
    }
    EXPECT_TRUE(row.shared_of_apart.has_value());
  }
}

TEST(SampleSpeed, WithoutDraftersOnlyTheStepIsMeasured) {
  const auto engine = SmallEngine(128, 1024);
  const SampleSpeed speed = Must(MeasureSamples(*engine, SmallOptions("none")));
  EXPECT_FALSE(speed.rows[1].apart.has_value() || speed.rows[1].shared.has_value() || speed.rows[1].shared_of_apart.has_value());
}

TEST(SampleSpeed, TheDraftersOfBothWaysDifferInSiblingsAlone) {
  const auto drafts = [](const std::string& list) {
    const SampleDrafts both = Must(DraftsOfSamples(list));
    return absl::StrCat(both.apart, "|", both.shared);
  };
  EXPECT_EQ(drafts("none"), "|");
  EXPECT_EQ(drafts("lookup"), "lookup|lookup,siblings");
  EXPECT_EQ(drafts("siblings,lookup"), "lookup|lookup,siblings");
  EXPECT_EQ(drafts("siblings"), "|siblings") << "no way of their own";
  EXPECT_TRUE(absl::StrContains(drafts("auto"), "suffix") && absl::EndsWith(drafts("auto"), ",siblings"));
  EXPECT_FALSE(DraftsOfSamples("guess").ok());
}

TEST(SampleSpeed, WithoutRoomForAllThereIsAnErrorOfTheCache) {
  const auto engine = SmallEngine(160, 160);   // The prompt is there once; twelve last tokens of it, and twelve rows, find no room.
  const absl::Status status = MeasureSamples(*engine, {.together = {12}, .generate_tokens = 8, .prompts = {RandomTokens(140, 1)}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(LimitOf(status), "cache_tokens");
}

TEST(RowPass, HeaderExample) {
  const auto engine = SmallEngine(64, 64);
  const std::vector<TokenId> prompt = {1, 2, 3};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const double seconds, SecondsOfRowPass(*engine, /*before=*/prompt, /*rows=*/{7, 8, 9}));
    EXPECT_GT(seconds, 0);
    return absl::OkStatus();
  };
  Must(run());
}

TEST(ShareBudget, ALargerShareIsALargerBudgetAndOnlyOfAPackedModel) {
  const PackedModel packed(TinyModelBuilder({.layers = 4}));
  EngineOptions options = {.model_path = packed.path(), .compute = {.threads = 1}, .cache = {.context = 64}};
  const int64_t half = Must(BudgetForShare(options, 0.5)), all = Must(BudgetForShare(options, 1));
  const auto engine = Must(Engine::Open(options));
  EXPECT_GT(StoredWeightBytes(*engine), 0);
  EXPECT_LE(half, all);
  options.model_path = packed.gguf();
  EXPECT_EQ(FieldOf(BudgetForShare(options, 0.5).status()), "model");
}

SampleSpeed MadeUp() {
  SampleSpeed speed = {.cache_tokens = 512};
  speed.rows = {{.samples = 1, .tokens_per_second = {90, 100, 110}, .step_seconds = 0.010, .pass_seconds = 0.0095, .of_pass = 1.05,
                 .shared = SampleSpeed::Drafted{101, 1.01, 1.0}},
                {.samples = 8, .tokens_per_second = {380, 400, 420}, .step_seconds = 0.020, .pass_seconds = 0.016, .of_pass = 1.25,
                 .apart = SampleSpeed::Drafted{420, 1.05, 1.2}, .shared = SampleSpeed::Drafted{500, 1.25, 1.5}, .shared_of_apart = 1.19}};
  return speed;
}

TEST(SampleSpeed, RatiosStandBesideTheTimes) {
  const std::string text = SampleSpeedText(MadeUp());
  for (const char* part : {"      8     400.0        20.00     16.00         1.25\n", "420.0  1.05             1.20          500.0  1.25",
                           "1.50      1.19\n", "keys and values of 512 tokens"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  JsonWriter json;
  WriteSampleSpeed(json, MadeUp());
  const JsonValue samples = Json(json.text()), rows = *samples.Array("rows");
  EXPECT_EQ(*rows[1].Object("shared")->Double("gain"), 1.25);
  EXPECT_EQ(*rows[1].Double("of_pass"), 1.25);
  EXPECT_TRUE(absl::StrContains(json.text(), "\"apart\":null")) << "nothing was drafted so";
}

// A model of letters, whose texts never end.
class BenchSamples : public testing::Test {
 protected:
  Ended Run(std::vector<std::string> flags, const std::string& model = "") const {
    flags.insert(flags.begin(), {"--model=" + (model.empty() ? packed_.gguf() : model), "--threads=1", "--generate_tokens=6",
                                 "--repetitions=2", "--context=2000",
                                 absl::StrCat("--data=", TESSERA_SOURCE_DIR, "/tests/data/speculation")});
    return RunProgram("tessera_bench samples", flags);
  }

  const PackedModel packed_{TinyModelBuilder({.layers = 2, .context = 2048, .writes_letters = true})};
};

TEST_F(BenchSamples, MeasuresEachNumberOfSamplesWithAndWithoutSharedDrafts) {
  const Ended ended = Run({"--together=1,3", "--speculate=lookup", "--temperature=0.9", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue samples = *Json(ended.output).Object("samples"), rows = *samples.Array("rows");
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(*rows[1].Int("samples"), 3);
  for (const char* name : {"step_seconds", "pass_seconds", "of_pass", "shared_of_apart"}) EXPECT_GT(*rows[1].Double(name), 0) << name;
  for (const char* name : {"apart", "shared"}) EXPECT_GE(*rows[1].Object(name)->Double("tokens_per_pass"), 1) << name;
  EXPECT_GT(*samples.Object("memory_bytes")->Int("cache"), 0);
}

TEST_F(BenchSamples, StreamsAShareOfAPackedModel) {
  const Ended ended = Run({"--together=2", "--speculate=siblings", "--ring_share=0.5"}, packed_.path());
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "samples  tokens/s  ms per step")) << ended.output;
  EXPECT_TRUE(absl::StrContains(ended.output, "shared, tok/s")) << ended.output;
}

TEST_F(BenchSamples, RefusesFlagsThatCannotBeMeasured) {
  const auto error = [&](const std::vector<std::string>& flags) {
    const Ended ended = Run(flags);
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(ended.output, "");
    return ended.errors;
  };
  EXPECT_TRUE(absl::StrContains(error({"--together=8,1"}), "--together: found"));
  EXPECT_TRUE(absl::StrContains(error({"--together=65"}), "--together: found"));
  EXPECT_TRUE(absl::StrContains(error({"--temperature=0"}), "--temperature: found 0, expected above 0: at 0 all samples are the same"));
  EXPECT_TRUE(absl::StrContains(error({"--speculate=guess"}), "--speculate: drafter: found \"guess\""));
  EXPECT_TRUE(absl::StrContains(error({"--ring_share=2"}), "--ring_share: found 2, expected above 0 and at most 1"));
  EXPECT_TRUE(absl::StrContains(error({"--ring_share=0.5"}), "--model: found"));
  EXPECT_TRUE(absl::StrContains(error({"--categories=nonsense"}), "--categories"));
  const std::string none = error({"--context=40", "--together=2", "--speculate=none"});
  EXPECT_TRUE(absl::StrContains(none, "--context: found 40 tokens, expected more: no prompt leaves room")) << none;
}

}  // namespace
}  // namespace tessera
