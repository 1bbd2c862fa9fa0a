// tessera_scale grid and report: what they write and print, how they go on, and what they refuse.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Grid(const std::string& into, const std::vector<std::string>& more = {}, const std::string& model = "llama") {
  std::vector<std::string> flags = {"--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation", "--model=" + TinyPath(model),
                                    "--texts=2", "--samples=4", "--n_predict=4", "--draws=24", "--into=" + into};
  flags.insert(flags.end(), more.begin(), more.end());
  return RunProgram("tessera_scale grid", flags);
}

void ExpectRefused(const Ended& ended, const std::string& says) {
  EXPECT_EQ(ended.code, 2) << ended.errors;
  EXPECT_EQ(ended.output, "");
  EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors << "\nexpected " << says;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n', absl::SkipEmpty()); }

TEST(ScaleGrid, WritesAFolderAndAPage) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid");
  const Ended ended = Grid(grid, {"--device=8gen3", "--shape=qwen2.5-0.5b"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StartsWith(ended.output, "gsm8k: 2 questions\n")) << ended.output;
  EXPECT_TRUE(absl::EndsWith(ended.output, "page: " + grid + "/report.html\n")) << ended.output;
  for (const char* said : {"majority 4", "s here", "s phone", "J phone", "those of the shape qwen2.5-0.5b", "modeled, 8gen3, operators"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, said)) << said;
  }
  EXPECT_EQ(Lines(TextOf(grid + "/gsm8k.jsonl")).size(), 8u);
  EXPECT_EQ(Lines(TextOf(grid + "/results.jsonl")).size(), 7u);
  EXPECT_EQ(Lines(TextOf(grid + "/times.jsonl")).size(), 3u);
  const JsonValue about = Json(TextOf(grid + "/grid.json"));
  EXPECT_TRUE(absl::StrContains(*about.String("command"), "tessera_scale grid ")) << *about.String("command");
  EXPECT_TRUE(absl::StrContains(*about.String("command"), " --shape=qwen2.5-0.5b"));
  EXPECT_GT(*about.Object("model")->Int("parameters"), 0);
  const std::string page = TextOf(grid + "/report.html");
  EXPECT_TRUE(absl::StrContains(page, *about.Object("model")->String("sha256")));
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(page, "<svg ")).size(), 4u) << "time here, time and energy of the phone";
}

TEST(ScaleGrid, GoesOnWhereAnEarlierOneEnded) {
  const TemporaryFolder folder;
  const std::string whole = folder.Path("whole"), part = folder.Path("part");
  ASSERT_EQ(Grid(whole).code, 0);
  std::vector<std::string> samples = Lines(TextOf(whole + "/gsm8k.jsonl"));
  // As after a kill, and a full disk.
  std::filesystem::create_directory(part);
  std::filesystem::copy(whole + "/grid.json", part + "/grid.json");
  std::ofstream(part + "/gsm8k.jsonl") << samples[5] << "\n" << samples[2] << "\n" << samples[0].substr(0, 30);
  ASSERT_EQ(Grid(part).code, 0);
  std::vector<std::string> rest = Lines(TextOf(part + "/gsm8k.jsonl"));
  std::sort(samples.begin(), samples.end());
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest, samples);
  EXPECT_EQ(TextOf(part + "/results.jsonl"), TextOf(whole + "/results.jsonl")) << "byte for byte";
  const std::string times = TextOf(whole + "/times.jsonl");
  const Ended again = Grid(whole, {"--json"});
  ASSERT_EQ(again.code, 0) << again.errors;
  EXPECT_EQ(TextOf(whole + "/times.jsonl"), times) << "nothing is measured again";
  const std::vector<std::string> lines = Lines(again.output);
  ASSERT_EQ(lines.size(), 7u);
  for (const std::string& line : lines) EXPECT_GT(*Json(line).Object("host")->Double("seconds"), 0);
}

TEST(ScaleGrid, RefusesAFolderOfOtherSettings) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid");
  ASSERT_EQ(Grid(grid).code, 0);
  ExpectRefused(Grid(grid, {"--seed=5"}), "--into: " + grid + "/grid.json: seed: found 0, expected 5, that of this run");
  ExpectRefused(Grid(grid, {"--samples=8"}), "samples: found 4, expected 8");
  ExpectRefused(Grid(grid, {"--texts=1"}), "questions of gsm8k: found 2 of sha256");
  ExpectRefused(Grid(grid, {"--task=math500"}), "task: found gsm8k, expected math500");
  ExpectRefused(Grid(grid, {}, "qwen2"), "model's sha256: found");
  std::ofstream(folder.Path("file")) << "x";
  ExpectRefused(Grid(folder.Path("file")), "--into: ");
}

TEST(ScaleGrid, ReportComparesGridsOfSeveralModels) {
  const TemporaryFolder folder;
  const std::string a = folder.Path("a"), b = folder.Path("b"), page = folder.Path("page.html");
  ASSERT_EQ(Grid(a).code, 0);
  ASSERT_EQ(Grid(b, {}, "qwen2").code, 0);
  const Ended ended = RunProgram("tessera_scale report", {"--from=" + a + "," + b, "--report=" + page});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  for (const char* said : {"llama majority 4", "qwen2 majority 4", "gsm8k: where a smaller model beats a larger one"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, said)) << said;
    EXPECT_TRUE(absl::StrContains(TextOf(page), said)) << said;
  }
  const JsonValue json = Json(RunProgram("tessera_scale report", {"--from=" + a + "," + b, "--json"}).output);
  EXPECT_EQ(json.Array("runs")->size(), 2);
  EXPECT_EQ(json.Array("configurations")->size(), 14);
  EXPECT_EQ(json.Array("frontiers")->size(), 1) << "no phone was asked for";
  ExpectRefused(RunProgram("tessera_scale report", {"--from=" + a, "--report=" + a + "/gsm8k.jsonl"}), "--report: found " + a);
  ExpectRefused(RunProgram("tessera_scale report", {"--from=" + a + ",/nowhere"}), "--from: /nowhere/grid.json: cannot open");
  ExpectRefused(RunProgram("tessera_scale report", {}), "--from: found none");
}

TEST(ScaleGrid, TakesScoresOfTheAskedHeadAlone) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid"), head = folder.Path("head"), model = folder.Path("a model.gguf");
  std::filesystem::copy_file(TinyPath("llama"), model);
  const int width = Must(Engine::Open({.model_path = model}))->config().width;
  RandomReward(width, 0, 1).WriteTo(head);
  const std::vector<std::string> flags = {"--model=" + model, "--scorer=reward:" + head, "--methods=one,best_of_n", "--context=1024"};
  const Ended asks = Grid(grid, flags);
  EXPECT_EQ(asks.code, 2);
  const size_t begin = asks.errors.find("tessera_scale score ");
  ASSERT_NE(begin, std::string::npos) << asks.errors;
  const std::string command = asks.errors.substr(begin, asks.errors.find('\n', begin) - begin);
  for (const std::string& given : {" --data=" + std::string(TESSERA_SOURCE_DIR), " --model='" + model + "'",
                                   std::string(" --context=1024"), " --candidates=" + grid + "/gsm8k.jsonl"}) {
    EXPECT_TRUE(absl::StrContains(command, given)) << command;
  }
  const Ended scored = RunProgram("tessera_scale score", {"--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation",
                                                          "--model=" + model, "--context=1024", "--candidates=" + grid + "/gsm8k.jsonl",
                                                          "--scorer=reward:" + head, "--into=" + grid + "/gsm8k.reward.jsonl"});
  ASSERT_EQ(scored.code, 0) << scored.errors;
  const Ended ended = Grid(grid, flags);
  ASSERT_EQ(ended.code, 0) << ended.errors;
  RandomReward(width, 0, 2).WriteTo(head);
  ExpectRefused(Grid(grid, flags), "gsm8k.reward.jsonl, line 1: settings: found score, gsm8k");
  std::filesystem::remove(head);
  ExpectRefused(Grid(grid, flags), "--scorer: " + head + ": cannot open");
}

TEST(ScaleGrid, AReportTakesThePlaceOfAPageAlone) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid"), page = folder.Path("page.html"), scores = folder.Path("gsm8k.reward.jsonl");
  std::ofstream(scores) << "{\"id\":\"1\"}\n";
  ExpectRefused(Grid(grid, {"--report=" + scores}), "--report: found " + scores + ", a file that begins with");
  EXPECT_EQ(TextOf(scores), "{\"id\":\"1\"}\n");
  EXPECT_FALSE(std::filesystem::exists(grid));
  for (int run = 0; run < 2; ++run) {
    const Ended ended = Grid(grid, {"--report=" + page});
    EXPECT_EQ(ended.code, 0) << ended.errors;
  }
}

TEST(ScaleGrid, TokensOutOfRangeAreNamed) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid"), path = grid + "/gsm8k.jsonl";
  ASSERT_EQ(Grid(grid).code, 0);
  const std::string samples = TextOf(path);
  const size_t begin = samples.find("\"tokens\":") + 9, end = samples.find(',', begin);
  for (const std::string& number : {std::string("-5"), std::string("4000000000")}) {
    std::ofstream(path) << samples.substr(0, begin) << number << samples.substr(end);
    ExpectRefused(Grid(grid), "tokens: found " + number + ", expected a number from 0 to 16777216");
  }
}

TEST(ScaleGrid, WrongUsageIsNamed) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid");
  ExpectRefused(RunProgram("tessera_scale grid", {"--model=" + TinyPath("llama")}), "--into: found none");
  const std::pair<const char*, const char*> cases[] = {
      {"--methods=one,luck", "--methods: found \"luck\", expected some of one, majority, weighted, best_of_n, beam"},
      {"--methods=one,one", "--methods: found one again, expected each once"},
      {"--counts=1,8", "--counts: found 8, expected at most 4, the samples of each question"},
      {"--counts=2,4", "--counts: found 2, expected 1 first"},
      {"--counts=4,2", "--counts: found"},
      {"--samples=1,2", "--samples: found 1,2, expected one number"},
      {"--samples=65", "--samples: found"},
      {"--task=gsm8k,gsm8k", "--task: found gsm8k again"},
      {"--task=arc", "--task: found \"arc\""},
      {"--shape=qwen2.5-0.5b", "--shape: found without --device"},
      {"--device=nokia", "--device: "},
      {"--scorer=mood", "--scorer: found"},
      {"--draws=0", "--draws: found 0"},
  };
  for (const auto& [flag, says] : cases) ExpectRefused(Grid(grid, {flag}), says);
  EXPECT_FALSE(std::filesystem::exists(grid)) << "nothing is made before flags are right";
}

}  // namespace
}  // namespace tessera
