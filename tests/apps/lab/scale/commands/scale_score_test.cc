// tessera_scale score and texts: scores of recorded samples by a model, and what a reward head is trained on.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/base/sha256.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kFew = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";

std::vector<JsonValue> LinesOf(const std::string& text) {
  std::vector<JsonValue> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) lines.push_back(Json(std::string(line)));
  return lines;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ScaleScore : public testing::Test {
 protected:
  ScaleScore() : head_(folder_.Path("reward.safetensors")), into_(folder_.Path("scored.jsonl")) {
    const int width = Must(Engine::Open({.model_path = TinyPath("llama")}))->config().width;
    RandomReward(width, 16, 1).WriteTo(head_);
    std::ofstream(folder_.Path("samples.jsonl")) << "{\"id\": \"1\", \"sample\": 0, \"text\": \"16 - 7 = 9\\n#### 18\", \"tokens\": 9}\n"
                                                 << "{\"id\": \"1\", \"sample\": 1, \"text\": \"#### 17\", \"mean_log_probability\": -2}\n"
                                                 << "{\"id\": \"2\", \"sample\": 0, \"text\": \"no\"}\n";
  }

  Ended Scale(const std::string& subcommand, std::vector<std::string> flags) const {
    flags.push_back("--data=" + kFew);
    return RunProgram("tessera_scale " + subcommand, flags);
  }
  std::vector<std::string> Flags(const std::string& scorer, std::vector<std::string> more = {}) const {
    std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--threads=1", "--json", "--into=" + into_, "--scorer=" + scorer,
                                      "--chat_template=chatml", "--context=1024"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  std::string Samples() const { return "--candidates=" + folder_.Path("samples.jsonl"); }

  const TemporaryFolder folder_;
  const std::string head_, into_;
};

TEST_F(ScaleScore, JudgeChoosesByTheScoresOfAHead) {
  const Ended ended = Scale("score", Flags("reward:" + head_, {Samples()}));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(*Json(ended.output).Int("scored"), 3);
  const std::vector<JsonValue> lines = LinesOf(TextOf(into_));
  ASSERT_EQ(lines.size(), 3u);
  for (const JsonValue& line : lines) {
    EXPECT_GT(*line.Double("reward"), 0);
    EXPECT_LT(*line.Double("reward"), 1);
  }
  EXPECT_EQ(*lines[1].Double("mean_log_probability"), -2) << "figures stay";
  EXPECT_EQ(*lines[0].Double("tokens"), 9);
  const std::string settings = *lines[0].String("settings"), model = Must(Sha256OfFile(TinyPath("llama"))).Hex();
  EXPECT_TRUE(absl::StartsWith(settings, "score, gsm8k, problems sha256 ")) << settings;
  EXPECT_TRUE(absl::StrContains(settings, ", samples.jsonl, llama.gguf, sha256 " + model + ", chatml, reward reward.safetensors, crc32c "))
      << settings;
  const Ended judged = Scale("judge", {"--candidates=" + into_, "--scorer=reward", "--samples=1", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.errors;
  EXPECT_EQ(*Json(judged.output).String("scorer"), "reward");
}

TEST_F(ScaleScore, ARunGoesOnWhereAnEarlierOneEnded) {
  ASSERT_EQ(Scale("score", Flags("reward:" + head_, {Samples()})).code, 0);
  const std::string whole = TextOf(into_);
  const size_t first = whole.find('\n') + 1;
  std::ofstream(into_) << whole.substr(0, first + 20);   // As a full disk leaves it.
  const Ended rest = Scale("score", Flags("reward:" + head_, {Samples()}));
  ASSERT_EQ(rest.code, 0) << rest.errors;
  EXPECT_EQ(*Json(rest.output).Int("before"), 1);
  EXPECT_EQ(*Json(rest.output).Int("scored"), 2);
  EXPECT_EQ(TextOf(into_), whole);
  const int width = Must(Engine::Open({.model_path = TinyPath("llama")}))->config().width;
  RandomReward(width, 16, 2).WriteTo(head_);   // Another head of the same name.
  const Ended other = Scale("score", Flags("reward:" + head_, {Samples()}));
  EXPECT_EQ(other.code, 2) << other.errors;
  EXPECT_TRUE(absl::StrContains(other.errors, "line 1: settings: found score, gsm8k")) << other.errors;
}

TEST_F(ScaleScore, ScoresOfCandidatesThatChangedAreRefused) {
  ASSERT_EQ(Scale("score", Flags("judge", {Samples()})).code, 0);
  std::ofstream(folder_.Path("samples.jsonl"), std::ios::app) << "{\"id\": \"2\", \"sample\": 1, \"text\": \"more\"}\n";
  const Ended more = Scale("score", Flags("judge", {Samples()}));
  ASSERT_EQ(more.code, 0) << more.errors;
  EXPECT_EQ(*Json(more.output).Int("scored"), 1) << "a file that grew goes on";
  const std::string scored = TextOf(into_);
  std::ofstream(folder_.Path("samples.jsonl")) << "{\"id\": \"1\", \"sample\": 1, \"text\": \"#### 18\"}\n";
  const Ended changed = Scale("score", Flags("judge", {Samples()}));
  EXPECT_EQ(changed.code, 2) << changed.errors;
  EXPECT_TRUE(absl::StrContains(changed.errors, "sample 1 of problem \"1\": found another text, expected \"#### 18\"")) << changed.errors;
  EXPECT_EQ(TextOf(into_), scored);
}

TEST_F(ScaleScore, AnotherModelOfTheSameNameIsRefused) {
  const std::string model = folder_.Path("model.gguf");
  std::filesystem::copy_file(TinyPath("llama"), model);
  ASSERT_EQ(Scale("score", Flags("judge", {Samples(), "--model=" + model})).code, 0);
  std::filesystem::copy_file(TinyPath("qwen2"), model, std::filesystem::copy_options::overwrite_existing);
  const Ended other = Scale("score", Flags("judge", {Samples(), "--model=" + model}));
  EXPECT_EQ(other.code, 2) << other.errors;
  EXPECT_TRUE(absl::StrContains(other.errors, "model.gguf, sha256 " + Must(Sha256OfFile(TinyPath("llama"))).Hex())) << other.errors;
  EXPECT_TRUE(absl::StrContains(other.errors, "model.gguf, sha256 " + Must(Sha256OfFile(TinyPath("qwen2"))).Hex())) << other.errors;
}

TEST_F(ScaleScore, RecordedSolutionsAreScoredByEachScorer) {
  for (const std::string& scorer : {std::string("reward:" + head_), std::string("judge"), std::string("mean_log_probability")}) {
    std::ofstream(into_) << "";
    const Ended ended = Scale("score", Flags(scorer));
    ASSERT_EQ(ended.code, 0) << scorer << ended.errors;
    const std::vector<JsonValue> lines = LinesOf(TextOf(into_));
    ASSERT_EQ(lines.size(), 8u) << "four of each problem that the set has";
    const std::string name = scorer.substr(0, scorer.find(':'));
    std::set<double> scores;
    for (const JsonValue& line : lines) scores.insert(*line.Double(name));
    EXPECT_GT(scores.size(), 4u);
    const Ended judged = Scale("judge", {"--candidates=" + into_, "--scorer=" + name, "--json"});
    ASSERT_EQ(judged.code, 0) << judged.errors;
    EXPECT_EQ(*Json(judged.output).Int("samples_each"), 4);
  }
}

TEST_F(ScaleScore, StepsOfALineAreAggregated) {
  std::map<std::string, double> scores;
  for (const std::string& steps : {std::string("last"), std::string("min"), std::string("product")}) {
    std::ofstream(into_) << "";
    const Ended ended = Scale("score", Flags("reward:" + head_, {Samples(), "--steps=" + steps}));
    ASSERT_EQ(ended.code, 0) << ended.errors;
    scores[steps] = *LinesOf(TextOf(into_))[0].Double("reward");
  }
  EXPECT_LE(scores["min"], scores["last"]);
  EXPECT_LT(scores["product"], scores["min"]);
}

TEST_F(ScaleScore, TextsAndLabelsAreOfTheSameSamples) {
  const std::string labels = folder_.Path("labels.jsonl");
  const Ended ended = Scale("texts", {"--model=" + TinyPath("llama"), "--out=" + labels, Samples(), "--context=1024"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const std::vector<JsonValue> requests = LinesOf(ended.output), said = LinesOf(TextOf(labels));
  ASSERT_EQ(requests.size(), 3u);
  ASSERT_EQ(said.size(), 3u);
  for (size_t i = 0; i < said.size(); ++i) {
    EXPECT_EQ(*said[i].String("id"), *requests[i].String("id"));
    const int64_t tokens = requests[i].Array("tokens")->size();
    EXPECT_EQ(*said[i].Int("tokens"), tokens);
    const JsonValue ends = *said[i].Array("ends");
    EXPECT_EQ(*ends[ends.size() - 1].AsInt(), tokens - 1);
  }
  EXPECT_EQ(*said[0].String("id"), "1/0");
  EXPECT_TRUE(*said[0].Bool("right"));
  EXPECT_FALSE(*said[1].Bool("right"));
  EXPECT_EQ(said[0].Array("ends")->size(), 2) << "two lines";
  EXPECT_EQ(*said[1].Object("figures")->Double("mean_log_probability"), -2);
  EXPECT_TRUE(absl::StartsWith(*said[0].String("statement"), "Janet"));
  EXPECT_TRUE(absl::StrContains(ended.errors, "3 texts of 2 problems, labels in ")) << ended.errors;
  // They are what tessera_quantize states reads.
  const Ended states = Program("tessera_quantize states", {"--model=" + TinyPath("llama"), "--jsonl", "--context=1024",
                                                  "--out=" + folder_.Path("states.safetensors")}).Finish(ended.output);
  EXPECT_EQ(states.code, 0) << states.errors;
  EXPECT_EQ(LinesOf(states.output).size(), 3u);
}

TEST_F(ScaleScore, WrongUsageIsNamed) {
  const auto refused = [&](const std::string& subcommand, const std::vector<std::string>& flags, const std::string& says) {
    const Ended ended = Scale(subcommand, flags);
    EXPECT_EQ(ended.code, 2) << ended.errors;
    EXPECT_EQ(ended.output, "");
    EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors << "\nexpected " << says;
  };
  refused("score", {"--scorer=judge"}, "--into: found none");
  refused("score", Flags("brevity"), "--scorer: found \"brevity\", expected one of mean_log_probability");
  refused("score", Flags("reward:/nowhere"), "--scorer: /nowhere: cannot open");
  refused("score", Flags("judge", {"--steps=min"}), "--steps: found it with judge, expected a reward head as scorer");
  refused("score", Flags("reward:" + head_, {"--steps=mean"}), "--steps: found \"mean\", expected last, min or product");
  refused("score", Flags("judge", {"--task=mbpp"}), "--task: found mbpp without --candidates");
  refused("score", Flags("judge", {"--candidates=/nowhere"}), "--candidates: /nowhere: cannot open");
  std::ofstream(folder_.Path("samples.jsonl"), std::ios::app) << "{\"id\": \"2\", \"sample\": 0, \"text\": \"yes\"}\n";
  refused("score", Flags("judge", {Samples()}), "--candidates: found sample 0 of problem \"2\" twice, expected each number once");
  refused("texts", {"--model=" + TinyPath("llama")}, "--out: found none, expected a file for the labels");
  RandomReward(8, 0, 1).WriteTo(head_);
  refused("score", Flags("reward:" + head_), "--scorer: " + head_ + ": tensor \"reward.out.weight\" shape: found [1, 8]");
}

}  // namespace
}  // namespace tessera
