// tessera_scale: what its subcommands print, and what they refuse.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kData = std::string("--data=") + TESSERA_SOURCE_DIR + "/tests/data/speculation";

Ended Scale(const std::string& subcommand, std::vector<std::string> flags) {
  flags.push_back(kData);
  return RunProgram("tessera_scale " + subcommand, flags);
}

void ExpectRefused(const std::string& subcommand, const std::vector<std::string>& flags, const std::string& says) {
  const Ended ended = Scale(subcommand, flags);
  EXPECT_EQ(ended.code, 2) << ended.errors;
  EXPECT_EQ(ended.output, "");
  EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors << "\nexpected " << says;
}

TEST(Scale, JudgeShowsEachWayForEachNumberOfSamples) {
  const Ended ended = Scale("judge", {"--json", "--samples=1,2,4"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue json = Json(ended.output);
  EXPECT_EQ(*json.Int("questions"), 3);
  EXPECT_EQ(*json.Int("samples_each"), 4);
  EXPECT_EQ(*json.Int("agreeing"), 12);
  const JsonValue figures = *json.Array("figures");
  ASSERT_EQ(figures.size(), 9);
  EXPECT_EQ(*figures[8].String("way"), "any right");
  for (int64_t i = 0; i < figures.size(); ++i) {
    const JsonValue right = *figures[i].Object("right");
    EXPECT_LE(*right.Double("low"), *right.Double("mean"));
    EXPECT_GE(*right.Double("high"), *right.Double("mean"));
  }
  EXPECT_EQ(Scale("judge", {"--json", "--samples=1,2,4"}).output, ended.output) << "the same again";
  const Ended text = Scale("judge", {});
  const std::string heading = "gsm8k: 3 questions with 4 samples each or more, scorer arithmetic, seed 0; 12 of 12 verdicts ";
  EXPECT_TRUE(absl::StartsWith(text.output, heading)) << text.output;
}

// README's first command, from another folder than that of the sources.
TEST(Scale, JudgeHasAFewRecordsInAnyFolder) {
  const TemporaryFolder folder;
  for (const std::string task : {"gsm8k", "math_steps"}) {
    Program program("tessera_scale judge", {"--task=" + task, "--samples=1,4"}, [&] { CHECK_EQ(chdir(folder.Path("").c_str()), 0); });
    const Ended ended = program.Finish("");
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(ended.output, Scale("judge", {"--task=" + task, "--samples=1,4"}).output);
  }
  const Ended none = RunProgram("tessera_scale judge", {"--data=" + folder.Path("none")});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(absl::StrContains(none.errors, "none/gsm8k_model_solutions.jsonl")) << none.errors;
}

TEST(Scale, JudgeOfTreesHasBeams) {
  const Ended ended = Scale("judge", {"--task=math_steps", "--samples=1,16", "--draws=20"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "beam search 4x4")) << ended.output;
}

TEST(Scale, JudgeReadsSamplesOfYourOwnAndRunsTheirCode) {
  if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters";
  const TemporaryFolder folder;
  std::ofstream(folder.Path("samples.jsonl"))
      << R"-({"id": "3", "text": "def is_not_prime(n):\n  return any(n % i == 0 for i in range(2, n))", "reward": 2})-" << "\n"
      << R"-({"id": "3", "text": "def is_not_prime(n):\n  return True", "reward": 1})-" << "\n";
  const Ended ended =
      Scale("judge", {"--task=mbpp", "--candidates=" + folder.Path("samples.jsonl"), "--scorer=reward", "--samples=1,2", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue figures = *Json(ended.output).Array("figures");
  EXPECT_EQ(*figures[0].Object("right")->Double("mean"), 0.5);
  EXPECT_EQ(*figures[3].String("way"), "best of N");
  EXPECT_EQ(*figures[3].Object("right")->Double("mean"), 1);
}

std::vector<std::string> RunFlags(const std::string& into) {
  return {"--model=" + TinyPath("llama"), "--texts=2", "--samples=3", "--n_predict=4", "--into=" + into, "--json"};
}

std::vector<std::string> SortedLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Scale, RunGoesOnWhereAnEarlierOneEnded) {
  const TemporaryFolder folder;
  const Ended whole = Scale("run", RunFlags(folder.Path("whole")));
  ASSERT_EQ(whole.code, 0) << whole.errors;
  EXPECT_EQ(*Json(whole.output).Int("written"), 6);
  const std::vector<std::string> lines = SortedLines(folder.Path("whole"));
  ASSERT_EQ(lines.size(), 6u);
  // As after a kill, and a full disk.
  std::ofstream(folder.Path("part")) << lines[3] << "\n" << lines[1] << "\n" << lines[0].substr(0, 30);
  const Ended rest = Scale("run", RunFlags(folder.Path("part")));
  ASSERT_EQ(rest.code, 0) << rest.errors;
  EXPECT_EQ(*Json(rest.output).Int("before"), 2);
  EXPECT_EQ(*Json(rest.output).Int("written"), 4);
  EXPECT_EQ(SortedLines(folder.Path("part")), lines);
  const Ended again = Scale("run", RunFlags(folder.Path("part")));
  EXPECT_EQ(*Json(again.output).Int("written"), 0);
  const Ended judged = Scale("judge", {"--candidates=" + folder.Path("whole"), "--scorer=mean_log_probability", "--samples=1,3", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.errors;
  EXPECT_EQ(*Json(judged.output).Int("samples_each"), 3);
}

TEST(Scale, RunRefusesAFileOfOtherSettings) {
  const TemporaryFolder folder;
  ASSERT_EQ(Scale("run", RunFlags(folder.Path("samples"))).code, 0);
  std::vector<std::string> flags = RunFlags(folder.Path("samples"));
  flags.push_back("--seed=5");
  ExpectRefused("run", flags, "line 1: settings: found gsm8k, problems sha256 ");
  flags.back() = "--context=1024";
  ExpectRefused("run", flags, ", context 1024, at most 4 tokens");
  ExpectRefused("run", {"--model=" + TinyPath("llama")}, "--into: found none");
  flags = RunFlags(folder.Path("new"));
  flags.push_back("--samples=1,2");
  ExpectRefused("run", flags, "--samples: found 1,2, expected one number");
}

TEST(Scale, RunRefusesAFileOfAnotherModelOfTheSameName) {
  const TemporaryFolder folder;
  const std::string model = folder.Path("model.gguf");
  std::vector<std::string> flags = RunFlags(folder.Path("samples"));
  flags.push_back("--model=" + model);
  std::filesystem::copy_file(TinyPath("llama"), model);
  ASSERT_EQ(Scale("run", flags).code, 0);
  std::filesystem::copy_file(TinyPath("qwen2"), model, std::filesystem::copy_options::overwrite_existing);
  ExpectRefused("run", flags, "expected gsm8k, problems sha256 ");
}

TEST(Scale, RunRefusesAFileOfProblemsThatChanged) {
  const TemporaryFolder folder;
  const std::string data = folder.path() + "/data";
  std::filesystem::create_directory(data);
  const auto write = [&](const std::string& question) {
    std::ofstream(data + "/gsm8k_test.jsonl") << "{\"question\": \"" << question << "\", \"answer\": \"#### 2\"}\n";
  };
  std::vector<std::string> flags = RunFlags(folder.Path("samples"));
  flags.push_back("--data=" + data);
  write("What is 1 + 1?");
  ASSERT_EQ(RunProgram("tessera_scale run", flags).code, 0);
  EXPECT_EQ(RunProgram("tessera_scale run", flags).code, 0) << "the same again";
  write("What is 4 - 2?");
  const Ended changed = RunProgram("tessera_scale run", flags);
  EXPECT_EQ(changed.code, 2);
  EXPECT_TRUE(absl::StrContains(changed.errors, "line 1: settings: found gsm8k, problems sha256 ")) << changed.errors;
}

TEST(Scale, SearchesRememberTheHeadThatScoredThem) {
  const TemporaryFolder folder;
  const std::string head = folder.Path("head"), into = folder.Path("beams");
  const int width = Must(Engine::Open({.model_path = TinyPath("llama")}))->config().width;
  const std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--texts=1", "--n_predict=4", "--beam=2x2", "--into=" + into,
                                          "--scorer=reward:" + head};
  RandomReward(width, 0, 1).WriteTo(head);
  const Ended written = Scale("run", flags);
  ASSERT_EQ(written.code, 0) << written.errors;
  RandomReward(width, 0, 2).WriteTo(head);
  ExpectRefused("run", flags, ", scorer reward head, crc32c ");
}

TEST(Scale, ScoresOfSearchesThatAreNoWeightsNameTheirScorer) {
  const TemporaryFolder folder;
  const std::string into = folder.Path("beams");
  const Ended written = Scale("run", {"--model=" + TinyPath("llama"), "--texts=1", "--n_predict=4", "--beam=2x2", "--into=" + into});
  ASSERT_EQ(written.code, 0) << written.errors;
  ExpectRefused("judge", {"--candidates=" + into, "--scorer=score", "--samples=1"},
                "searches by mean_log_probability are judged by --scorer=mean_log_probability");
  EXPECT_EQ(Scale("judge", {"--candidates=" + into, "--scorer=mean_log_probability", "--samples=1"}).code, 0);
}

TEST(Scale, CheckRunsOwnSolutionsOfAllSets) {
  if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters";
  const Ended ended = Scale("check", {"--task=all", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue tasks = *Json(ended.output).Array("tasks");
  ASSERT_EQ(tasks.size(), 4);
  for (int64_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(*tasks[i].Int("problems"), 2);
    EXPECT_EQ(tasks[i].Array("wrong")->size(), 0) << ended.output;
  }
}

TEST(Scale, CheckNamesASolutionThatIsWrong) {
  if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters";
  const TemporaryFolder folder;
  std::ofstream(folder.Path("mbpp.jsonl"))
      << R"-({"task_id": 7, "text": "t", "code": "def f(): return 1", "test_list": ["assert f() == 2, 'two'"]})-";
  const Ended ended = RunProgram("tessera_scale check", {"--task=mbpp", "--data=" + folder.path()});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StartsWith(ended.output, "mbpp: 0 of 1 own solutions are right\n  7: AssertionError: two\n")) << ended.output;
}

TEST(Scale, WrongUsageIsNamed) {
  ExpectRefused("judge", {"--task=arc"}, "--task: found \"arc\", expected one of gsm8k, math500, humaneval, mbpp, math_steps");
  ExpectRefused("judge", {"--task=mbpp"}, "--task: found mbpp without --candidates");
  ExpectRefused("judge", {"--samples=1,8"}, "--samples: found 8, expected at most 4, the samples of question 1");
  ExpectRefused("judge", {"--samples=4,2"}, "--samples: found");
  ExpectRefused("judge", {"--draws=0"}, "--draws: found 0");
  ExpectRefused("judge", {"--split=dev"}, "--split: found \"dev\", expected all, train or test");
  ExpectRefused("judge", {"--scorer=reward"}, "--scorer: found \"reward\", expected one of arithmetic, brevity, random (question 1)");
  ExpectRefused("judge", {"--task=math_steps", "--samples=6"}, "--samples: found 6, expected 1, 2, 3 or a multiple of 4");
  ExpectRefused("judge", {"--task=math_steps", "--split=test"}, "--split: found beside --task=math_steps");
  ExpectRefused("judge", {"--task=math_steps", "--scorer=random"}, "--scorer: found beside --task=math_steps");
  ExpectRefused("judge", {"--task=math_steps", "--candidates=x"}, "--candidates: found beside --task=math_steps");
  ExpectRefused("judge", {"--candidates=/nowhere"}, "--candidates: /nowhere: cannot open");
  ExpectRefused("check", {"--task=math_steps"}, "--task: found \"math_steps\", expected one of gsm8k, math500, humaneval, mbpp");
  const Ended none = RunProgram("tessera_scale judge", {"--data=/nowhere"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(absl::StrContains(none.errors, "--data: /nowhere/gsm8k_model_solutions.jsonl: cannot open")) << none.errors;
}

}  // namespace
}  // namespace tessera
