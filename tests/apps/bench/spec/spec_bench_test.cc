// tessera_bench spec: its prompts, its output, and that an oracle and a drafter that is never right give the same texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/spec/spec_bench_drafters.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/bench/spec/spec_bench_report.h"
#include "tessera/apps/bench/spec/spec_bench_run.h"
#include "tessera/apps/bench/spec/svg_ranges.h"
#include "tessera/base/spread.h"
#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string& Samples() {
  static const std::string folder = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  return folder;
}

Ended RunBench(std::vector<std::string> arguments) {
  for (const std::string& argument : {std::string("--texts=1"), std::string("--generate_tokens=12"), std::string("--threads=1"),
                                      "--data=" + Samples(), "--model=" + TinyPath("llama")}) {
    arguments.push_back(argument);
  }
  return RunProgram("tessera_bench spec", arguments);
}

TEST(SpecBenchPrompts, EverySetGivesItsCategories) {
  const absl::StatusOr<std::vector<PromptCategory>> all = ReadPromptSets(Samples(), /*most=*/48);
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<std::string> names;
  for (const PromptCategory& category : *all) {
    names.push_back(category.name);
    EXPECT_EQ(category.prompts.size(), category.name == "ui_steps" ? 6u : 2u) << category.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"mt_bench", "translation", "summarization", "qa", "math_reasoning", "rag", "ui",
                                             "ui_steps", "chat", "code", "gsm8k"}));
  EXPECT_EQ(ReadPromptSets(Samples(), 1)->at(0).prompts.size(), 1u);
}

TEST(SpecBenchPrompts, ScreensAndFunctionsAreAskedInWords) {
  const std::vector<PromptCategory> chosen = *ChooseCategories(*ReadPromptSets(Samples(), 1), "code,ui");
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_TRUE(chosen[0].prompts[0].starts_with("Complete this function:\n\nfrom typing import List")) << chosen[0].prompts[0];
  EXPECT_TRUE(chosen[1].prompts[0].starts_with("Task: ")) << chosen[1].prompts[0];
  EXPECT_TRUE(chosen[1].prompts[0].ends_with("\nRepeat the element you would choose, then explain why."));
}

TEST(SpecBenchPrompts, StepsAreAllScreensOfTheTasksInTheirOrder) {
  const std::vector<PromptCategory> chosen = *ChooseCategories(*ReadPromptSets(Samples(), 48), "ui,ui_steps");
  const std::vector<std::string>&middles = chosen[0].prompts, &steps = chosen[1].prompts;
  EXPECT_NE(steps[0].find("\n- Start the gallery app."), std::string::npos) << steps[0];
  for (size_t i = 1; i < steps.size(); ++i) EXPECT_NE(steps[i], steps[i - 1]);
  for (const std::string& middle : middles) EXPECT_EQ(std::count(steps.begin(), steps.end(), middle), 1);
}

TEST(SpecBenchPrompts, ABadRecordIsNamedWithItsLine) {
  const TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(Samples()))
    std::filesystem::copy(entry.path(), folder.Path(entry.path().filename()));
  std::ofstream(folder.Path("humaneval.jsonl"), std::ios::app) << "{\"task\": 1}\n";
  const absl::Status status = ReadPromptSets(folder.Path("."), 48).status();
  EXPECT_NE(status.message().find("humaneval.jsonl, line 3"), std::string::npos) << status;
  EXPECT_NE(ChooseCategories({{"code", {}}}, "poems").status().message().find("categories: found poems, expected some of code"),
            std::string::npos);
}

TEST(SpecBenchReport, QuantilesLieBetweenValues) {
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(Quantile({1, 2}, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.25), 7);
}

TEST(SpecBenchReport, TheBestGainIsThatOfTheBestNumberOfRows) {
  const RowTimes times = {{1, 0.010}, {2, 0.011}, {4, 0.016}, {8, 0.040}};
  EXPECT_DOUBLE_EQ(BestGain(times), 2.5);
  EXPECT_DOUBLE_EQ(SecondsOfRows(times, 1), 0.010);
  EXPECT_NEAR(SecondsOfRows(times, 3), 0.0135, 1e-12);
  EXPECT_NEAR(SecondsOfRows(times, 12), 0.064, 1e-12);
}

TEST(SpecBenchReport, TextsThatDiffer_AndOnlyThese_AreCounted) {
  CategoryResult result("code");
  const std::vector<TokenId> prompt = {1, 2, 3};
  const TimedText plain = {.tokens = {4, 5, 6}, .prompt_seconds = 1, .decode_seconds = 2, .passes = 2, .rows = 2};
  TimedText drafted = {.tokens = {4, 5, 6}, .prompt_seconds = 1, .decode_seconds = 1, .passes = 1, .rows = 3};
  ASSERT_TRUE(result.AddPair(prompt, plain, drafted, /*barrier=*/90).ok());
  EXPECT_EQ(result.different, 0);
  drafted.tokens[2] = 7;
  drafted.prompt_seconds = 1.5;
  ASSERT_TRUE(result.AddPair(prompt, plain, drafted, /*barrier=*/90).ok());
  EXPECT_EQ(result.different, 1);
  EXPECT_EQ(result.gains, (std::vector<double>{2, 2}));
  EXPECT_EQ(result.total_gains, (std::vector<double>{1.2, 1.5}));
  EXPECT_EQ(result.prompt_costs, (std::vector<double>{1, 1.5}));
  EXPECT_EQ(result.barrier_nanos, (std::vector<double>{90, 90}));
  EXPECT_DOUBLE_EQ(result.plain.TokensPerSecond(), 1);
  EXPECT_DOUBLE_EQ(result.drafted.TokensPerPass(), 2);
}

TEST(SpecBenchRun, TheWritingOfMedianTimeCounts_UnlessOneIsAnotherText) {
  const auto of_seconds = [](double seconds) { return TimedText{.tokens = {4, 5}, .decode_seconds = seconds}; };
  std::vector<TimedText> writings = {of_seconds(3), of_seconds(9), of_seconds(1)};
  EXPECT_EQ(MedianText(writings, {4, 5}).decode_seconds, 3);
  EXPECT_EQ(MedianText({of_seconds(7)}, {4, 5}).decode_seconds, 7);
  writings[1].tokens = {4, 6};
  EXPECT_EQ(MedianText(writings, {4, 5}).tokens, (std::vector<TokenId>{4, 6}));
}

TEST(SpecBench, OnlyDraftersThatLearnNothingWriteATextSeveralTimes) {
  const Ended ended = RunBench({"--speculate=wrong", "--categories=code", "--writings=3", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue category = (*Json(ended.output).Array("categories"))[0];
  EXPECT_EQ(*category.Object("speculation")->Int("tokens"), 3 * *category.Object("drafted")->Int("tokens")) << "it was not written thrice";
  const Ended wrong = RunBench({"--writings=3"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.errors.find("--writings: found 3 with --speculate=auto, expected 1"), std::string::npos) << wrong.errors;
  for (const std::string name : {"none", "wrong", "oracle"}) {
    const Ended remembers = RunBench({"--remember", "--speculate=" + name});
    EXPECT_EQ(remembers.code, 2) << name;
    EXPECT_NE(remembers.errors.find("--remember: found with --speculate=" + name), std::string::npos) << remembers.errors;
  }
}

TEST(SpecBench, TheChooserDraftsTheCorrectPrefixOfTheOthersDraft) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(std::make_unique<PromptLookup>(PromptLookup::Options()));   // It drafts 3, 4, 1, 2.
  OracleDrafter chooser(std::make_unique<CompositeDrafter>(std::move(drafters)));
  chooser.Know({2, 3, 4, 9, 9});
  chooser.Begin({{1, 2, 3, 4, 1, 2}});
  TokenTree tree(2);
  ASSERT_TRUE(chooser.Propose({.max_nodes = 8}, tree).ok());
  ASSERT_EQ(tree.size(), 3);
  EXPECT_EQ(tree.PathTo(2), (std::vector<TokenId>{3, 4}));
}

TEST(SpecBench, DraftsOfEverySortGiveTheTextsOfPlainDecoding) {
  for (const char* drafters : {"auto", "lookup", "none", "oracle", "chooser", "wrong"}) {
    const Ended ended = RunBench({absl::StrCat("--speculate=", drafters), "--categories=code,ui", "--json"});
    ASSERT_EQ(ended.code, 0) << drafters << ": " << ended.errors;
    const JsonValue report = Json(ended.output);
    const JsonValue texts = *report.Array("texts");
    ASSERT_EQ(texts.size(), 2) << drafters;
    for (int64_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(*texts[i].Ints("output_tokens"), *texts[i].Ints("drafted_tokens")) << drafters;
    const JsonValue category = (*report.Array("categories"))[0];
    EXPECT_EQ(*category.String("category"), "code");
    EXPECT_EQ(*category.Int("changed"), 0);
    EXPECT_GE(*category.Double("best_gain"), 1);
    EXPECT_GT(*category.Object("barrier_nanos")->Double("median"), 0);
    EXPECT_GT(*texts[0].Double("barrier_nanos"), 0);
  }
}

TEST(SpecBench, OracleChooserAndWrongDraftForAStreamedModel) {
  const PackedModel packed(TinyPath("llama"));
  for (const char* drafter : {"oracle", "chooser", "wrong"}) {
    const Ended ended = RunProgram("tessera_bench spec", {"--data=" + Samples(), "--model=" + packed.path(), "--memory_budget=1GiB",
                                                          "--pin=none", "--json", "--threads=1", "--categories=code",
                                                          "--generate_tokens=24", absl::StrCat("--speculate=", drafter)});
    ASSERT_EQ(ended.code, 0) << drafter << ": " << ended.errors;
    const JsonValue drafted = *(*Json(ended.output).Array("categories"))[0].Object("drafted");
    EXPECT_GT(*drafted.Int("rows"), *drafted.Int("passes")) << drafter;
  }
}

TEST(SpecBench, ShowsTablesAndDrawsThem) {
  const TemporaryFolder folder;
  const Ended ended = RunBench({"--categories=code", "--remember", "--plot=" + folder.Path("gains.svg")});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  for (const char* part : {"median gain", "tokens per pass", "SAM's rule", "recycling"})
    EXPECT_NE(ended.output.find(part), std::string::npos) << part;
  std::ifstream file(folder.Path("gains.svg"));
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(svg.find(">code</text>"), std::string::npos);
}

TEST(SpecBench, LeavesOutTextsWhoseThreadsWereTooFarApart) {
  const Ended ended = RunProgram("tessera_bench spec", {"--data=" + Samples(), "--model=" + TinyPath("llama"), "--threads=2", "--json",
                                                      "--categories=code", "--generate_tokens=12", "--most_barrier_nanos=1"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue report = Json(ended.output);
  const JsonValue category = (*report.Array("categories"))[0];
  EXPECT_EQ(*category.Int("texts"), 0);  // No barrier takes less than a nanosecond.
  EXPECT_GT(*category.Int("left_out"), 0);
  EXPECT_EQ(report.Array("texts")->size(), *category.Int("left_out"));
  const Ended wrong = RunBench({"--most_barrier_nanos=-1"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.errors.find("--most_barrier_nanos: found -1"), std::string::npos) << wrong.errors;
}

TEST(SvgRanges, AnyNameIsEscapedAsText) {
  const std::string svg = RangeChartSvg({"a < b", "x & y", "bound", {{"<script>", 1, 2, 3, 4}}});
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
}

}  // namespace
}  // namespace tessera
