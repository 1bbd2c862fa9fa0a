// Several texts at once: --parallel requests and --answers to one prompt are what they are one by one, whatever comes between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::vector<std::string> With(const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--model=" + TinyPath("llama"), "--threads=1"};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

Ended Generate(const std::vector<std::string>& flags, const std::string& input = "") {
  return RunProgram("tessera_generate", With(flags), input);
}

std::vector<std::string> Lines(const std::string& output) { return absl::StrSplit(output, '\n', absl::SkipEmpty()); }

// The answers but for what depends on the company: times, and whether it is known what was shared.
std::vector<std::string> Answers(const std::string& output) {
  std::vector<std::string> lines = Lines(WithoutTimes(output));
  for (std::string& line : lines) {
    constexpr char kShared[] = ",\"shared_prompt\":";
    for (size_t begin; (begin = line.find(kShared)) != std::string::npos;) line.erase(begin, line.find(',', begin + 1) - begin);
  }
  return lines;
}

// All sorts: long and short, greedy and drawn, with a stop, several answers, bad ones.
std::string Requests() {
  return R"({"id": 1, "text": "the in re the in", "n": 40}
{"id": "two", "tokens": [70, 71, 72], "n_predict": 3, "temperature": 0}

{"id": 3, "text": "the in", "n": 12, "temperature": 1.5, "seed": 9, "top_k": 0, "top_p": 1, "min_p": 0}
{"id": 4, "text": "the in", "answers": 3, "n": 9, "temperature": 1.2}
{"id": 5, "text": "the in", "max_tokens": 3}
no JSON
{"id": 6, "text": "a a a a", "n": 25, "repetition_penalty": 1.3, "penalty_window": 8, "stop": ["e", "t"]}
{"id": 7, "text": "a", "n": 1, "adapter": "sums"}
{"id": 8, "text": "a", "n": 1, "answers": 1}
{"id": 9, "text": "re the", "n": 30, "min_p": 0.2}
)";
}

// The lines of standard error, but for the one with times.
std::vector<std::string> WithoutSummary(const std::string& errors) {
  std::vector<std::string> lines = absl::StrSplit(errors, '\n');
  std::erase_if(lines, [](const std::string& line) { return absl::StartsWith(line, "requests: "); });
  return lines;
}

TEST(Parallel, AnswersEqualOneByOneInTheOrderOfRequests) {
  for (const std::string speculate : {"--speculate=none", "--speculate=auto"}) {
    const Ended one_by_one = Generate({"--jsonl", speculate, "--context=128"}, Requests());
    const std::vector<std::string> expected = Answers(one_by_one.output);
    ASSERT_EQ(expected.size(), 10u) << one_by_one.output;
    for (const std::string parallel : {"2", "3", "8"}) {
      const Ended ended = Generate({"--jsonl", speculate, "--context=128", "--parallel=" + parallel}, Requests());
      EXPECT_EQ(Answers(ended.output), expected) << speculate << ", " << parallel;
      EXPECT_EQ(ended.code, 1) << "three are bad";
      EXPECT_EQ(WithoutSummary(ended.errors), WithoutSummary(one_by_one.errors));
    }
  }
}

TEST(Parallel, UnorderedAnswersAreTheSame) {
  std::vector<std::string> expected = Answers(Generate({"--jsonl"}, Requests()).output);
  const Ended ended = Generate({"--jsonl", "--parallel=8", "--unordered"}, Requests());
  std::vector<std::string> answers = Answers(ended.output);
  EXPECT_NE(answers, expected) << "the first is the longest";
  std::sort(expected.begin(), expected.end());
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers, expected);
  EXPECT_EQ(ended.code, 1);
}

TEST(Parallel, MoreTextsThanTheCacheHoldsAreAnsweredAllTheSame) {
  std::string requests;
  for (int i = 0; i < 12; ++i) absl::StrAppend(&requests, "{\"id\": ", i, ", \"text\": \"the in re ", i, "\", \"n\": 40}\n");
  const std::vector<std::string> expected = Answers(Generate({"--jsonl", "--context=64"}, requests).output);
  const Ended ended = Generate({"--jsonl", "--context=64", "--parallel=6", "--cache_tokens=96"}, requests);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(Answers(ended.output), expected);
}

TEST(Parallel, AProgramThatWaitsForEachAnswerReceivesEachAnswer) {
  for (const std::string flag : {"--unordered", "--nounordered"}) {
    Program program("tessera_generate", With({"--jsonl", "--parallel=4", flag}));
    for (int i = 0; i < 3; ++i) {
      program.Write(absl::StrCat("{\"id\": ", i, ", \"text\": \"the\", \"n\": 2}\n"));
      EXPECT_TRUE(absl::StartsWith(program.FirstOutput(), absl::StrCat("{\"id\":", i, ",")));
    }
    EXPECT_EQ(program.Finish("").code, 0);
  }
}

// A request that comes while another is written is answered beside it, also if its line comes in parts.
TEST(Parallel, ARequestIsTakenWhileOthersAreWritten) {
  Program program("tessera_generate", With({"--jsonl", "--parallel=2", "--unordered", "--context=1000000"}));
  program.Write("{\"id\": \"long\", \"text\": \"the\", \"n\": 100000, \"temperature\": 0}\n{\"id\": \"short\", ");
  EXPECT_TRUE(program.TakesInput());
  program.Write("\"text\": \"the\", \"n\": 2}\n");
  EXPECT_TRUE(absl::StartsWith(program.FirstOutput(), "{\"id\":\"short\","));
  program.Signal(SIGTERM);
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + SIGTERM);
}

// In the order of requests: the first is not whole, so those behind it wait for it.
TEST(Parallel, ASignalLosesNoAnswerThatIsWholeAndNamesTheOthers) {
  Program program("tessera_generate", With({"--jsonl", "--parallel=3", "--context=1000000"}));
  program.Write("{\"id\": 1, \"text\": \"the\", \"n\": 0, \"temperature\": 0}\n{\"id\": 2, \"text\": \"the\", \"n\": 2}\n");
  EXPECT_TRUE(program.Computes(1'000'000));   // The second answer takes some passes of a millisecond at most.
  program.Signal(SIGTERM);
  EXPECT_TRUE(program.Ends());
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  const std::vector<std::string> lines = Lines(ended.output);
  ASSERT_EQ(lines.size(), 2u) << ended.output;
  EXPECT_TRUE(absl::StartsWith(lines[0], "{\"id\":1,\"error\":")) << lines[0];
  EXPECT_TRUE(absl::StrContains(lines[0], "ended by a signal")) << lines[0];
  EXPECT_TRUE(absl::StartsWith(lines[1], "{\"id\":2,\"prompt_tokens\":")) << lines[1];
}

TEST(Parallel, LinesThatAskForNothingStopNoText) {
  Program program("tessera_generate", With({"--jsonl", "--parallel=2"}));
  program.Write("{\"id\": 1, \"text\": \"the\", \"n\": 9}\n");
  std::atomic<bool> answered = false;
  std::thread writer([&] {
    while (!answered) program.Write(std::string(4096, '\n'));
  });
  EXPECT_TRUE(absl::StartsWith(program.FirstOutput(), "{\"id\":1,"));
  answered = true;
  writer.join();
  EXPECT_EQ(program.Finish("").code, 0);
}

TEST(Parallel, AnswersSayHowMuchOfTheirPromptsWasShared) {
  std::string requests;
  for (int i = 0; i < 2; ++i) {
    absl::StrAppend(&requests, "{\"id\": ", i, ", \"text\": \"the in re the in re the in re the in re the in re\", \"n\": 4}\n");
  }
  const std::vector<std::string> lines = Lines(Generate({"--jsonl", "--parallel=2"}, requests).output);
  ASSERT_EQ(lines.size(), 2u);
  const auto shared = [&](int i) { return *Json(lines[i]).Object("counts")->Int("shared_prompt"); };
  EXPECT_EQ(shared(0), 0);
  EXPECT_GT(shared(1), 15);
}

TEST(Parallel, ASignalEndsTheRunAndTheHistoryHasTheAnswers) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const CacheFolderFor cache(folder.path());
    Program program("tessera_generate", With({"--jsonl", "--parallel=3", "--unordered", "--history=test", "--context=1000000"}));
    program.Write("{\"id\": 1, \"text\": \"the in re\", \"n\": 30}\n{\"id\": 2, \"text\": \"the\", \"n\": 0, \"temperature\": 0}\n");
    EXPECT_TRUE(absl::StartsWith(program.FirstOutput(), "{\"id\":1,"));
    program.Signal(signal);
    EXPECT_TRUE(program.Ends());
    EXPECT_EQ(program.Finish("").code, 128 + signal);
    uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.Path("history"))) bytes = std::max(bytes, file.file_size());
    EXPECT_GT(bytes, 60u) << "30 tokens are more, however they are written";
  }
}

TEST(Parallel, AGoneReaderEndsTheRun) {
  signal(SIGPIPE, SIG_IGN);
  Program program("tessera_generate", With({"--jsonl", "--parallel=2", "--context=1000000"}));
  program.Write("{\"id\": 1, \"text\": \"the\", \"n\": 0, \"temperature\": 0}\n");
  program.CloseOutput();
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + SIGPIPE);
}

// Its pipes and the queue are full before it takes the first answer: that stops what is written, and nothing is lost.
TEST(Parallel, ASlowReaderGetsAll) {
  constexpr int kRequests = 340;   // More than the queue and both pipes hold.
  std::string requests;
  const auto begin_of = [](int i) { return absl::StrCat("{\"id\":\"", i, std::string(4'000, 'x')); };
  for (int i = 0; i < kRequests; ++i) absl::StrAppend(&requests, begin_of(i), "\", \"text\": \"the\", \"n\": 1}\n");
  Program program("tessera_generate", With({"--jsonl", "--parallel=4"}));
  std::thread writer([&] { program.Write(requests); });   // Waits where the program does not read.
  EXPECT_TRUE(program.FillsOutput());
  const std::vector<std::string> lines = Lines(program.OutputLines(kRequests));
  writer.join();
  ASSERT_EQ(lines.size(), static_cast<size_t>(kRequests));
  for (int i = 0; i < kRequests; ++i) EXPECT_TRUE(absl::StartsWith(lines[i], begin_of(i) + "\"")) << i;
  EXPECT_EQ(program.Finish("").code, 0);
}

TEST(Parallel, AFullStandardOutputIsAnError) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  Program program("tessera_generate", With({"--jsonl", "--parallel=2"}), [full] { dup2(full, STDOUT_FILENO); });
  close(full);
  program.Write("{\"id\": 1, \"text\": \"the\", \"n\": 2}\n");
  EXPECT_TRUE(program.Ends()) << "it does not wait for more requests";
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "standard output: No space left")) << ended.errors;
}

TEST(Parallel, DraftersPayForAllTextsAndTheHistoryServesThem) {
  const TemporaryFolder folder;
  const CacheFolderFor cache(folder.path());
  std::string requests;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&requests, "{\"id\": ", i, ", \"text\": \"a a a a a a\", \"n\": 40, \"seed\": ", i, "}\n");
  const std::string costs = "--cost_profile=" + folder.Path("costs.json");
  const Ended first = Generate({"--jsonl", "--parallel=4", "--history=test", costs}, requests);
  EXPECT_EQ(first.code, 0) << first.errors;
  EXPECT_TRUE(std::filesystem::exists(folder.Path("costs.json"))) << first.errors;
  const Ended second = Generate({"--jsonl", "--parallel=4", "--history=test", costs}, requests);
  EXPECT_EQ(Answers(second.output), Answers(first.output));
  EXPECT_EQ(Answers(Generate({"--jsonl", "--speculate=none"}, requests).output), Answers(first.output));
}

constexpr char kPrompt[] = "--prompt=the in re";

// "Answer 1 of 3:\n...\n\nAnswer 2 of 3:\n..."
std::vector<std::string> Shown(const std::string& output, int answers) {
  std::vector<std::string> texts;
  size_t begin = 0;
  for (int i = 0; i < answers; ++i) {
    const std::string head = absl::StrCat(i == 0 ? "" : "\n\n", "Answer ", i + 1, " of ", answers, ":\n");
    const size_t place = output.find(head, begin);
    if (place == std::string::npos) return {};
    if (i > 0) texts.push_back(output.substr(begin, place - begin));
    begin = place + head.size();
  }
  texts.push_back(output.substr(begin, output.size() - 1 - begin));
  return texts;
}

TEST(Answers, TheFirstIsTheOnlyOneOfARunWithoutThemAndTheOthersDiffer) {
  const std::vector<std::string> flags = {kPrompt, "--temperature=1.5", "--top_k=0", "--n_predict=30", "--seed=3"};
  std::vector<std::string> four = flags;
  four.push_back("--answers=4");
  const Ended ended = Generate(four);
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const std::vector<std::string> texts = Shown(ended.output, 4);
  ASSERT_EQ(texts.size(), 4u) << ended.output;
  EXPECT_EQ(texts[0] + "\n", Generate(flags).output);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), 4u);
  EXPECT_TRUE(absl::StrContains(ended.errors, "prompt ")) << "the summary: " << ended.errors;
  four.push_back("--json");
  const JsonValue json = Json(Generate(four).output);
  ASSERT_EQ(json.Array("answers")->size(), 4);
  for (int i = 0; i < 4; ++i) {
    const JsonValue answer = (*json.Array("answers"))[i];
    EXPECT_EQ(*answer.String("text"), texts[i]);
    EXPECT_EQ(answer.Ints("tokens")->size(), 30u);
    EXPECT_EQ(*answer.String("finish"), "length");
  }
  EXPECT_EQ(*json.Uint("seed"), 3u);
  EXPECT_EQ(*json.Object("timings")->Int("output_tokens"), 120);
  four.push_back("--answers=2");
  const JsonValue two = Json(Generate(four).output);
  EXPECT_EQ(*(*two.Array("answers"))[1].String("text"), texts[1]) << "an answer does not depend on how many there are";
}

TEST(Answers, OneIsAsWithoutTheFlag) {
  EXPECT_EQ(Generate({kPrompt, "--n_predict=5", "--answers=1"}).output, Generate({kPrompt, "--n_predict=5"}).output);
  EXPECT_EQ(Generate({kPrompt, "--n_predict=5", "--answers=1", "--temperature=0"}).code, 0);
}

TEST(Answers, OfOneRequestShareItsPromptAndTheFirstIsThePlainAnswer) {
  const std::string request = R"({"id": 1, "text": "the in re", "n": 10, "seed": 3, "temperature": 1.5, "top_k": 0)";
  const JsonValue three = Json(Generate({"--jsonl"}, request + ", \"answers\": 3}\n").output);
  const JsonValue one = Json(Generate({"--jsonl"}, request + "}\n").output);
  const JsonValue answers = *three.Array("answers");
  ASSERT_EQ(answers.size(), 3);
  EXPECT_EQ(*answers[0].Ints("output_tokens"), *one.Ints("output_tokens"));
  EXPECT_NE(*answers[1].Ints("output_tokens"), *one.Ints("output_tokens"));
  EXPECT_EQ(*three.Ints("prompt_tokens"), *one.Ints("prompt_tokens"));
  EXPECT_EQ(*answers[0].Object("counts")->Int("shared_prompt"), 0);
  EXPECT_EQ(*answers[1].Object("counts")->Int("shared_prompt"), static_cast<int64_t>(one.Ints("prompt_tokens")->size()) - 1);
}

TEST(Answers, ThatFindNoRoomAtOnceWaitAndAreTheSame) {
  const std::vector<std::string> flags = {"--prompt=the", "--raw", "--context=16", "--answers=9"};
  const auto in_cache = [&](const std::string& tokens) {
    std::vector<std::string> all = flags;
    all.push_back("--cache_tokens=" + tokens);
    return Generate(all);
  };
  const Ended small = in_cache("16"), large = in_cache("256");
  EXPECT_EQ(small.code, 0) << small.errors;
  EXPECT_TRUE(absl::StrContains(small.errors, "waited for room in the cache")) << small.errors;
  EXPECT_FALSE(absl::StrContains(large.errors, "waited for room in the cache")) << large.errors;
  EXPECT_EQ(small.output, large.output);
}

TEST(Answers, AnInterruptEndsThem) {
  Program program("tessera_generate", With({kPrompt, "--n_predict=0", "--answers=3", "--context=1000000"}));
  EXPECT_TRUE(absl::StartsWith(program.FirstOutput(), "Answer 1 of 3:"));
  program.Signal(SIGINT);
  EXPECT_TRUE(program.Ends());
  EXPECT_EQ(program.Finish("").code, 128 + SIGINT);
}

TEST(CacheTokens, AreCountedByPlansAndDryRuns) {
  const auto plan = [](const std::vector<std::string>& flags) {
    std::vector<std::string> all = With({"--dry_run", "--json", "--context=2048", "--speculate=none"});
    all.insert(all.end(), flags.begin(), flags.end());
    return Json(RunProgram("tessera_generate", all).output);
  };
  const auto cache = [](const JsonValue& plan) { return *plan.Object("memory_bytes")->Int("cache"); };
  const JsonValue one = plan({}), two = plan({"--answers=2"}), eight = plan({"--answers=8"});
  EXPECT_EQ(*one.Int("cache_tokens"), 2048);
  EXPECT_EQ(*two.Int("cache_tokens"), 2048);
  EXPECT_EQ(*eight.Int("cache_tokens"), 8192);
  EXPECT_EQ(cache(two), cache(one));
  EXPECT_EQ(cache(eight), 4 * cache(one));
  EXPECT_EQ(cache(plan({"--answers=8", "--cache_tokens=4096"})), 2 * cache(one));
  EXPECT_GT(*eight.Object("memory_bytes")->Int("logits"), *one.Object("memory_bytes")->Int("logits"));
}

}  // namespace
}  // namespace tessera
