// Adapters at a scale, and several as one: by requests one after another and together, by --use_adapter, and in little memory.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/engine/adapter_mixes.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::string Both() { return absl::StrCat("some:", GoldenPath("lora/llama-qv"), ",all:", GoldenPath("lora/llama-all.gguf")); }

std::vector<std::string> With(const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--model=" + TinyPath("llama"), "--threads=1", "--adapter=" + Both()};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

// adapter: as JSON; empty: the request says nothing.
std::string Asked(const std::string& adapter, const std::string& text = "the in re the in it") {
  const std::string named = adapter.empty() ? "" : absl::StrCat(R"(, "adapter": )", adapter);
  return absl::StrCat(R"({"id": 1, "text": ")", text, R"(", "n": 24, "temperature": 0)", named, "}\n");
}

// The tokens of each answer, or its error.
std::vector<std::string> Answers(const Ended& ended) {
  std::vector<std::string> answers;
  for (const absl::string_view line : absl::StrSplit(ended.output, '\n', absl::SkipEmpty())) {
    const JsonValue answer = Json(std::string(line));
    answers.push_back(answer.Has("error") ? *answer.String("error") : absl::StrJoin(*answer.Ints("output_tokens"), " "));
  }
  return answers;
}

constexpr char kMix[] = R"(["some", "all@0.5"])", kTurned[] = R"("all@0.5,some")", kOther[] = R"("some,all")", kHalf[] = R"("all@0.5")",
               kSome[] = R"("some")";

std::string AllRequests() {
  return absl::StrCat(Asked(kMix), Asked(kSome), Asked(kOther), Asked(kHalf), Asked(kMix), Asked(""), Asked(kTurned), Asked(kOther));
}

// Each as it is alone in a process, whatever the company, the way and the memory are.
TEST(ComposedAdapterPrograms, AnswersEqualEachRequestAlone) {
  const auto run = [](std::vector<std::string> flags, const std::string& requests) {
    flags.insert(flags.end(), {"--jsonl", "--context=128"});
    const Ended ended = RunProgram("tessera_generate", With(flags), requests);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return Answers(ended);
  };
  std::vector<std::string> expected;
  for (const char* const adapter : {kMix, kSome, kOther, kHalf, kMix, "", kTurned, kOther}) {
    expected.push_back(run({"--speculate=none"}, Asked(adapter)).at(0));
  }
  EXPECT_EQ(std::set<std::string>({expected[0], expected[1], expected[2], expected[3], expected[5]}).size(), 5u) << "or this shows little";
  for (const char* const parallel : {"--parallel=1", "--parallel=3", "--parallel=8"}) {
    EXPECT_EQ(run({parallel}, AllRequests()), expected) << parallel;
    EXPECT_EQ(run({parallel, "--adapter_memory=4MiB"}, AllRequests()), expected) << parallel;
    EXPECT_EQ(run({parallel, "--adapter_memory=90KiB"}, AllRequests()), expected) << parallel << ": texts wait for room";
  }
  EXPECT_EQ(run({absl::StrCat("--use_adapter=some,all@0.5")}, Asked("")).at(0), expected[0]);
  EXPECT_EQ(run({"--lora_mode=input"}, Asked(kHalf)).at(0), expected[3]);
  const Ended listed = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--threads=1", "--jsonl", "--context=128",
                                                       absl::StrCat("--adapter=half:", GoldenPath("lora/llama-all.gguf"), ":0.5")},
                                  Asked(""));
  EXPECT_EQ(Answers(listed).at(0), expected[3]) << "the same as a file at that scale";
}

// A text starts from what one with the same composition computed; another order or scale is another adapter.
TEST(ComposedAdapterPrograms, OnlyTheSameCompositionSharesPrefixes) {
  std::string text = "the in re the in it";
  for (int i = 0; i < 3; ++i) text = absl::StrCat(text, " ", text);
  for (const char* const memory : {"--threads=1", "--adapter_memory=4MiB"}) {
    std::vector<int64_t> shared;
    for (const auto& [first, second] : {std::pair(kMix, kMix), std::pair(kMix, R"("some,all@0.5")"), std::pair(kMix, kTurned),
                                        std::pair(kMix, kOther), std::pair(kMix, R"("some")"), std::pair(kHalf, kHalf)}) {
      const Ended ended = RunProgram("tessera_generate", With({memory, "--jsonl", "--parallel=2", "--context=512"}),
                                     Asked(first, text) + Asked(second, text));
      const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
      ASSERT_EQ(lines.size(), 2u) << ended.errors;
      shared.push_back(*Json(lines[1]).Object("counts")->Int("shared_prompt"));
    }
    EXPECT_GT(shared[0], 20);
    EXPECT_EQ(shared[1], shared[0]);
    EXPECT_EQ(shared[2], 0);
    EXPECT_EQ(shared[3], 0);
    EXPECT_EQ(shared[4], 0);
    EXPECT_GT(shared[5], 20);
  }
}

TEST(ComposedAdapterPrograms, OtherProgramsAndDialoguesHaveThem) {
  const auto output = [](const char* program, const std::vector<std::string>& flags, const std::string& input) {
    const Ended ended = RunProgram(program, With(flags), input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended.output;
  };
  const std::string request = R"({"id": 1, "text": "the in re the in it the in re")";
  for (const auto& [program, flag] : {std::pair<const char*, const char*>("tessera_logits", "--top=5"),
                                      std::pair<const char*, const char*>("tessera_perplexity", "--window=8")}) {
    const std::string named = output(program, {"--jsonl", flag}, absl::StrCat(request, R"(, "adapter": ["some", "all@0.5"]})", "\n"));
    EXPECT_EQ(output(program, {"--jsonl", flag, "--use_adapter=some,all@0.5"}, absl::StrCat(request, "}\n")), named) << program;
    EXPECT_NE(output(program, {"--jsonl", flag, "--use_adapter=some,all"}, absl::StrCat(request, "}\n")), named) << program;
  }
  const std::vector<std::string> chat = {"--chat", "--chat_template=chatml", "--temperature=0", "--n_predict=12"};
  const auto chatted = [&](const std::string& adapter) {
    std::vector<std::string> flags = chat;
    flags.push_back("--use_adapter=" + adapter);
    return output("tessera_generate", flags, "the in\n");
  };
  EXPECT_NE(chatted("some,all@0.5"), chatted("some"));
  EXPECT_EQ(RunProgram("tessera_verify", With({"--prompts=-", "--n_predict=8", "--temperature=0", "--use_adapter=all@0.5,some"}),
                       "the in\n").code, 0);
}

// By its sum: what was composed is the same in every process.
TEST(ComposedAdapterPrograms, ASessionGoesOnWithTheSameCompositionAlone) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& adapter) {
    return RunProgram("tessera_generate", With({"--raw", "--temperature=0", "--prompt=the", "--n_predict=4",
                                                "--session=" + folder.Path("kept"), "--use_adapter=" + adapter}));
  };
  EXPECT_EQ(run("some,all@0.5").code, 0);
  EXPECT_EQ(run("some,all@0.5").code, 0);
  for (const char* const other : {"all@0.5,some", "some,all", "some"}) {
    const Ended refused = run(other);
    EXPECT_EQ(refused.code, 1) << other;
    EXPECT_TRUE(absl::StrContains(refused.errors, "kept: adapter: found ")) << refused.errors;
  }
}

// More compositions than are known at once have come between.
TEST(ComposedAdapterPrograms, TheChosenOneIsTheSameHoweverManyOthersWereAsked) {
  std::string requests = Asked("");
  for (int i = 1; i <= AdapterMixes::kMostKnown + 4; ++i) {
    absl::StrAppend(&requests, R"({"id": 2, "text": "the", "n": 1, "temperature": 0, "adapter": "all@)", i * 0.001, "\"}\n");
  }
  const Ended ended = RunProgram("tessera_generate", With({"--jsonl", "--context=128", "--use_adapter=some,all@0.5"}),
                                 absl::StrCat(requests, Asked("")));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const std::vector<std::string> answers = Answers(ended);
  ASSERT_EQ(answers.size(), static_cast<size_t>(AdapterMixes::kMostKnown) + 6);
  EXPECT_EQ(answers.front(), answers.back());
}

TEST(ComposedAdapterPrograms, ErrorsOfRequestsNameFlags) {
  for (const char* const parallel : {"--parallel=1", "--parallel=2"}) {
    const Ended ended = RunProgram("tessera_generate", With({"--jsonl", parallel, "--context=128", "--lora_mode=mask"}), Asked(kHalf));
    EXPECT_EQ(ended.code, 1);
    EXPECT_EQ(Answers(ended), (std::vector<std::string>{
                                  "standard input, line 1: adapter: found \"all@0.5\" with --lora_mode=mask, expected one adapter at its "
                                  "own scale: a mask has those of the list side by side, and no other"}));
  }
}

// An error of one request, with what it needs; the others go on.
TEST(ComposedAdapterPrograms, OneThatNeverFitsIsAnErrorOfItsRequest) {
  const Ended ended = RunProgram("tessera_generate", With({"--jsonl", "--parallel=2", "--context=128", "--adapter_memory=40KiB"}),
                                 Asked(kSome) + Asked(kMix) + Asked(kSome));
  EXPECT_EQ(ended.code, 1);
  const std::vector<std::string> answers = Answers(ended);
  ASSERT_EQ(answers.size(), 3u) << ended.errors;
  EXPECT_TRUE(absl::StrContains(answers[1], "line 2: adapter \"some,all@0.5\": found 40.0 KiB for adapters, expected room for "))
      << answers[1];
  EXPECT_EQ(answers[0], answers[2]);
}

}  // namespace
}  // namespace tessera
