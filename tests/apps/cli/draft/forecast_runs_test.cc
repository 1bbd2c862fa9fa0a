// --draft_model as forecasts, by which the model drafts for itself: texts, errors and plans of the programs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/tests/fakes/forecast_file.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/programs/draft_runs.h"

namespace tessera {
namespace {

class ForecastRuns : public DraftRuns {
 protected:
  ForecastRuns() {
    const auto file = Must(GgufFile::Open(TinyPath("llama")));
    config_ = Must(ReadModelConfig(*file));
    RandomForecasts(config_, {.slots = 4, .forecasts = 3}, 1).WriteTo(path_);
  }

  ModelConfig config_;
  const std::string path_ = folder_.Path("ds2d.safetensors");
  const Flags drafts_ = {"--draft_model=" + path_, "--speculate=draft"};
};

TEST_F(ForecastRuns, TextsAreTheSame) {
  ExpectTheSameTexts({drafts_ + Flags{"--tree=ds2d:3,2", "--cost_profile=" + FreeRows()}, drafts_, {"--draft_model=" + path_}});
}

TEST_F(ForecastRuns, ForecastsAreComputedAndReportedForOneAndSeveralAnswers) {
  for (const Flags& way : {Flags{"--answers=1"}, {"--answers=3"}}) {
    const Flags flags = {"--tree=ds2d:2,2", "--cost_profile=" + FreeRows(), "--prompt=the in re", "--n_predict=30", "--temperature=0.9"};
    const JsonValue speculation = *Json(Generate(drafts_ + flags + way + Flags{"--json"}).output).Object("timings")->Object("speculation");
    EXPECT_GT(*speculation.Int("forecast_rows"), 50) << way[0];
    const JsonValue drafter = (*speculation.Array("drafters"))[0];
    EXPECT_EQ(*drafter.String("name"), "forecasts");
    EXPECT_EQ(*drafter.String("choice"), "2,2");
    EXPECT_GT(*drafter.Int("proposed"), 0);
    EXPECT_EQ(*drafter.Int("failures"), 0);
  }
  const Ended ended = Generate(drafts_ + Flags{"--prompt=the in", "--n_predict=9", "--temperature=0", "--stats"});
  EXPECT_TRUE(absl::StrContains(ended.errors, "forecasts: ds2d.safetensors, 4 slots, 3 forecasts, tree ds2d:auto")) << ended.errors;
}

TEST_F(ForecastRuns, OfAStreamedModelTextsAreTheSame) {
  const PackedModel packed(TinyPath("llama"));
  const Flags answer = {"--prompt=the in re the in", "--n_predict=40", "--temperature=0"};
  const std::string plain = Generate(answer + Flags{"--speculate=none"}).output;
  const Ended streamed = RunProgram("tessera_generate", Flags{"--model=" + packed.path(), "--threads=1", "--context=256",
                                                              "--memory_budget=1GiB", "--pin=none"} + drafts_ + answer);
  EXPECT_EQ(streamed.code, 0) << streamed.errors;
  EXPECT_EQ(streamed.output, plain);
}

// The last tokens of a full context, beside which the prefix has slots of its own.
TEST_F(ForecastRuns, ContextsAreAsLongAsWithout) {
  const Flags answer = {"--context=40", "--prompt=the in re the in", "--n_predict=0", "--temperature=0"};
  const Ended plain = Generate(answer + Flags{"--speculate=none"});
  const Ended drafted = Generate(answer + drafts_ + Flags{"--cost_profile=" + FreeRows()});
  EXPECT_EQ(drafted.output, plain.output);
  EXPECT_TRUE(absl::StrContains(drafted.errors, "The context of 40 tokens is full")) << drafted.errors;
}

TEST_F(ForecastRuns, VerifyAndSpecBenchTakeThem) {
  const Ended same = RunProgram("tessera_verify", Flags{"--model=" + TinyPath("llama"), "--draft_model=" + path_, "--b=speculate=draft",
                                                        "--tree=ds2d:1,1,1", "--n_predict=20", "--context=128"}, "the in\nre\n");
  EXPECT_EQ(same.code, 0) << same.errors;
  EXPECT_TRUE(absl::StartsWith(same.output, "equal: 2 prompts")) << same.output;
  const Ended bench = RunProgram("tessera_bench spec", Flags{"--model=" + TinyPath("llama"), "--draft_model=" + path_, "--speculate=draft",
                                                             "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation",
                                                             "--texts=1", "--categories=qa", "--generate_tokens=8", "--json"});
  EXPECT_EQ(bench.code, 0) << bench.errors;
  EXPECT_EQ(*Json(bench.output).String("tree"), "ds2d:auto");
}

// Rows of the model's own passes: a modeled phone's static graphs of 32 rows have them, in its time, which is the same in each run.
TEST_F(ForecastRuns, APhonesPassesHaveTheirRows) {
  const Flags phone = {"--device=8elite:static", "--context=256"};
  const Flags bench = Flags{"--model=" + TinyPath("llama"), "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation",
                            "--texts=1", "--categories=qa", "--generate_tokens=24", "--tree=ds2d:3,2", "--json"} + drafts_ + phone;
  const Ended first = RunProgram("tessera_bench spec", bench), second = RunProgram("tessera_bench spec", bench);
  ASSERT_EQ(first.code, 0) << first.errors;
  const auto part = [](const Ended& ended, const char* name) { return *(*Json(ended.output).Array("categories"))[0].Object(name); };
  EXPECT_EQ(*Json(first.output).String("device"), "8elite:static");
  EXPECT_GT(*part(first, "speculation").Int("forecast_rows"), 0);
  EXPECT_EQ(*part(first, "drafted").Int("rows"), *part(second, "drafted").Int("rows"));
  EXPECT_EQ(*part(first, "drafted").Double("decode_seconds"), *part(second, "drafted").Double("decode_seconds"));
  const Flags answer = Flags{"--prompt=the in re the in", "--n_predict=20", "--temperature=0"} + phone;
  EXPECT_EQ(Generate(answer + drafts_).output, Generate(answer + Flags{"--speculate=none"}).output);
  ExpectError(drafts_ + Flags{"--device=8gen2:unshared", "--context=256"}, 1,
              "forecasts: found an engine that switches graphs, expected one with the graphs it began with");
}

TEST_F(ForecastRuns, MemoryPlansCountThem) {
  const auto plan = [](const Flags& drafts) {
    const Flags flags = {"--model=" + TinyPath("llama"), "--dry_run", "--context=128", "--json"};
    const Ended ended = RunProgram("tessera_generate", flags + drafts);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return *Json(ended.output).Object("memory_bytes");
  };
  const JsonValue with = plan(drafts_), without = plan({"--speculate=none"});
  EXPECT_GT(*with.Int("cache"), *without.Int("cache"));
  EXPECT_GE(*with.Int("draft_model"), 4 * 2 * config_.kv_heads * config_.head_size);
}

TEST_F(ForecastRuns, WrongUsageIsRefused) {
  const Flags named = {"--draft_model=" + path_};
  ExpectError(named + Flags{"--tree=lever"}, 2, "--tree: found \"lever\" with forecasts, expected ds2d:auto");
  ExpectError(named + Flags{"--tree=ds2d:9,9"}, 2, "--tree: branches: found \"9,9\", expected at most 32 rows");
  ExpectError(named + Flags{"--accept=rejection", "--temperature=0.9"}, 2, "--accept: found rejection with forecasts, expected match");
  ExpectError({"--draft_model=" + TinyPath("llama"), "--tree=ds2d:3,2"}, 2, "--tree: ");
  ModelConfig other = config_;
  other.width = 96;
  const std::string wide = folder_.Path("wide.safetensors");
  RandomForecasts(other, {.slots = 4, .forecasts = 3}, 1).WriteTo(wide);
  ExpectError({"--draft_model=" + wide}, 1, wide + ": tensor \"forecasts\" shape: found [3, 96], expected [3, 64]");
  ForecastFile broken = RandomForecasts(config_, {.slots = 4, .forecasts = 3}, 1);
  broken.texts = {{"slots", "7"}};
  broken.WriteTo(wide);
  ExpectError({"--draft_model=" + wide}, 2, "--draft_model: " + wide + ": __metadata__ slots: found \"7\"");
}

TEST_F(ForecastRuns, RowsMayBePruned) {
  ModelConfig config = config_;
  const std::string predictor = folder_.Path("exit.safetensors");
  WritePredictor(predictor, RandomPredictor(config, "width", /*layer=*/1, /*seed=*/3));
  const Flags answer = {"--prompt=the in re the in", "--n_predict=40", "--temperature=0"};
  EXPECT_EQ(Generate(answer + drafts_ + Flags{"--tree=ds2d:3,2", "--prune=" + predictor, "--prune_threshold=0.9"}).output,
            Generate(answer + Flags{"--speculate=none"}).output);
}

}  // namespace
}  // namespace tessera
