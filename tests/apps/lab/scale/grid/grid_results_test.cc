// Lines of results and of times: read back as they were written, and hostile until checked.
#include "tessera/apps/lab/scale/grid/grid_results.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/lab/scale/grid/host_times.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

GridResult Result() {
  GridResult result = {.model = "a.gguf", .task = "gsm8k", .method = "weighted", .scorer = "self_certainty", .samples = 8, .questions = 40};
  result.right = {0.3, 0.2, 0.4};
  result.gain = {0.1, -0.05, 0.15};
  result.prompt_tokens = 90.5;
  result.tokens = 1040;
  result.passes = 170.25;
  result.phone = GridPhone{.device = "8gen3, operators", .shape = "qwen2.5-1.5b",
                           .cost = {.prompt_seconds = 0.125, .decode_seconds = 3.5, .joules = 9.5}};
  return result;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GridResults, AreReadAsWritten) {
  const TemporaryFolder folder;
  GridResult one = Result();
  one.method = "one";
  one.scorer = "";
  one.phone.reset();
  Must(WriteGridResults(folder.Path("results"), {Result(), one}));
  const std::vector<GridResult> read = Must(ReadGridResults(folder.Path("results")));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].model, "a.gguf");
  EXPECT_EQ(read[0].method, "weighted");
  EXPECT_EQ(read[0].scorer, "self_certainty");
  EXPECT_EQ(read[0].gain.low, -0.05);
  EXPECT_EQ(read[0].passes, 170.25);
  EXPECT_EQ(read[0].phone->cost.joules, 9.5);
  EXPECT_EQ(read[1].scorer, "");
  EXPECT_FALSE(read[1].phone.has_value());
  Must(WriteGridResults(folder.Path("again"), read));
  EXPECT_EQ(TextOf(folder.Path("again")), TextOf(folder.Path("results")));
}

TEST(GridResults, AreHostileUntilChecked) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("results");
  Must(WriteGridResults(path, {Result()}));
  const std::string line = TextOf(path);
  const std::pair<const char*, const char*> changes[] = {
      {"\"gsm8k\"", "\"arc\""},         {"\"weighted\"", "\"luck\""},      {"\"samples\":8", "\"samples\":65"},
      {"\"samples\":8", "\"samples\":0"}, {"\"questions\":40", "\"questions\":0"}, {"\"mean\":0.3", "\"mean\":1.5"},
      {"\"high\":0.4", "\"high\":0.1"}, {"\"tokens\":1040", "\"tokens\":-1"}, {"\"joules\":9.5", "\"joules\":1e300"},
      {"\"decode_seconds\":3.5", "\"decode_seconds\":null"}, {"\"device\":", "\"divide\":"}, {"\"low\":-0.05", "\"low\":-2"}};
  for (const auto& [from, to] : changes) {
    ASSERT_TRUE(absl::StrContains(line, from)) << from;
    std::ofstream(path) << absl::StrReplaceAll(line, {{from, to}});
    const absl::Status status = ReadGridResults(path).status();
    EXPECT_FALSE(status.ok()) << to;
    EXPECT_TRUE(absl::StartsWith(status.message(), path + ", line 1")) << status;
  }
  std::ofstream(path) << "";
  EXPECT_FALSE(ReadGridResults(path).ok()) << "no result at all";
}

HostTime Time() {
  return {.task = "gsm8k", .samples = 8, .questions = 4, .seconds = 2, .least_seconds = 1, .most_seconds = 3, .tokens = 800,
          .other_cpus = 0.25, .machine = "a CPU, 2 threads, avx2"};
}

TEST(HostTimes, AreKeptPerMachine) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("times.jsonl");
  HostTimes times = Must(HostTimes::Read(path, Time().machine));
  EXPECT_TRUE(times.all().empty()) << "no file is no error";
  Must(times.Add(Time()));
  HostTime beams = Time();
  beams.beams = true;
  beams.scorer = "judge a, crc32c 00000001";
  beams.other_cpus.reset();
  Must(times.Add(beams));
  const HostTimes read = Must(HostTimes::Read(path, Time().machine));
  ASSERT_EQ(read.all().size(), 2u);
  ASSERT_NE(read.Find("gsm8k", 8, ""), nullptr);
  EXPECT_EQ(read.Find("gsm8k", 8, "")->least_seconds, 1);
  EXPECT_EQ(read.Find("gsm8k", 8, "")->other_cpus, 0.25);
  EXPECT_EQ(read.Find("gsm8k", 8, "judge a, crc32c 00000001")->other_cpus, std::nullopt);
  EXPECT_EQ(read.Find("gsm8k", 8, "judge"), nullptr) << "another scorer";
  EXPECT_EQ(read.FindBeams("gsm8k", 8, "judge"), read.Find("gsm8k", 8, "judge a, crc32c 00000001"));
  EXPECT_EQ(read.FindBeams("gsm8k", 8, "self_certainty"), nullptr);
  EXPECT_EQ(read.Find("gsm8k", 4, ""), nullptr);
  EXPECT_EQ(read.Find("mbpp", 8, ""), nullptr);
  EXPECT_TRUE(Must(HostTimes::Read(path, "another machine")).all().empty());
  EXPECT_EQ(Must(HostTimes::Read(path)).all().size(), 2u) << "of any machine";
}

TEST(HostTimes, AreHostileUntilChecked) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("times.jsonl");
  Must(Must(HostTimes::Read(path)).Add(Time()));
  const std::string line = TextOf(path);
  const std::pair<const char*, const char*> changes[] = {{"\"samples\":8", "\"samples\":1000"}, {"\"seconds\":2", "\"seconds\":-2"},
                                                         {"\"most_seconds\":3", "\"most_seconds\":0.5"}, {"\"beams\":false", "\"beams\":0"},
                                                         {"\"questions\":4", "\"questions\":0"}, {"\"machine\"", "\"machines\""}};
  for (const auto& [from, to] : changes) {
    ASSERT_TRUE(absl::StrContains(line, from)) << from;
    std::ofstream(path) << absl::StrReplaceAll(line, {{from, to}});
    EXPECT_FALSE(HostTimes::Read(path).ok()) << to;
  }
  std::ofstream(path) << absl::StrReplaceAll(line, {{"\"beams\":false", "\"beams\":true"}});
  EXPECT_TRUE(Must(HostTimes::Read(path)).all().empty()) << "a search by nobody knows which scorer";
  std::ofstream(path) << line << line;
  EXPECT_TRUE(absl::StrContains(HostTimes::Read(path).status().message(), "expected each once"));
}

TEST(HostTimes, AreTheMeanOfQuestionsThatAreWrittenOnceEach) {
  // A few milliseconds each; the first is a warm-up.
  const std::vector<SampleProblem> questions = {{.id = "a"}, {.id = "b"}, {.id = "c"}};
  std::string order;
  HostTime time = {.task = "gsm8k", .samples = 2};
  EngineOptions options = {.model_path = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf", .compute = {.threads = 1}};
  const std::unique_ptr<Engine> engine = Must(Engine::Load(options));
  Must(TimeQuestions(*engine, questions, [&](const SampleProblem& question, bool warm_up) -> absl::StatusOr<int64_t> {
    order += question.id + (warm_up ? "w" : "");
    return 7;
  }, time));
  EXPECT_EQ(order, "awabc");
  EXPECT_EQ(time.questions, 3);
  EXPECT_EQ(time.tokens, 7);
  EXPECT_LE(time.least_seconds, time.seconds);
  EXPECT_GE(time.most_seconds, time.seconds);
  EXPECT_EQ(time.machine, MachineName(*engine));
  EXPECT_TRUE(absl::StrContains(time.machine, ", 1 thread, ")) << time.machine;
  const absl::Status failed = TimeQuestions(*engine, questions, [](const SampleProblem&, bool) -> absl::StatusOr<int64_t> {
    return absl::CancelledError("stopped");
  }, time);
  EXPECT_TRUE(absl::IsCancelled(failed));
}

}  // namespace
}  // namespace tessera
