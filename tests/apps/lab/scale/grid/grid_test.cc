// A grid in one process: whatever stops it, the next one goes on to the same results; and a folder of other settings is refused.
#include "tessera/apps/lab/scale/grid/grid.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/host_times.h"
#include "tessera/apps/lab/scale/grid/run_settings.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kData = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";

GridOptions Options(const std::string& folder) {
  GridOptions options = {.folder = folder, .questions = 2, .counts = {1, 2, 4}, .methods = {"one", "majority", "weighted", "best_of_n"}};
  options.samples = {.samples = 4, .together = 3, .sampling = {.temperature = 1, .seed = 9}, .max_tokens = 5};
  options.draws = 24;
  options.timed_questions = 1;
  return options;
}

const GridSource& Source() {
  static const GridSource source = {.model = {.name = "llama.gguf", .sha256 = std::string(64, 'a')}, .command = "tessera_scale grid"};
  return source;
}

absl::StatusOr<std::vector<GridResult>> RunFor(const GridOptions& options, const std::atomic<bool>* cancel = nullptr) {
  EngineOptions engine_options = {.model_path = TinyPath("llama"), .compute = {.threads = 1}, .cancel = cancel};
  Must(CheckGrid(options));
  Must(PlanGrid(options, engine_options));
  const std::unique_ptr<Engine> engine = Must(Engine::Load(engine_options));
  return RunGrid(*engine, {Must(ReadTask(kData, "gsm8k"))}, Source(), options);
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Samples are added as they end, which is another order each time.
std::string SortedLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Grid, HeaderExample) {
  const TemporaryFolder folder;
  GridOptions options = {.folder = folder.Path("grid"), .samples = {.samples = 2}, .questions = 1, .counts = {1, 2},
                         .methods = {"one", "majority"}};
  options.samples.max_tokens = 3;
  const std::vector<GridResult> results = Must(RunFor(options));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].method, "majority");
  EXPECT_EQ(results[1].samples, 2);
  EXPECT_EQ(results[1].questions, 1);
  EXPECT_FALSE(results[1].phone.has_value());
}

TEST(Grid, HasEachMethodForEachNumberOfSamples) {
  const TemporaryFolder folder;
  const std::vector<GridResult> results = Must(RunFor(Options(folder.Path("grid"))));
  ASSERT_EQ(results.size(), 7u) << "one sample, and three ways for 2 and 4";
  EXPECT_EQ(results[0].method, "one");
  EXPECT_EQ(results[0].scorer, "");
  EXPECT_EQ(results[3].method, "best_of_n");
  EXPECT_EQ(results[3].scorer, "mean_log_probability");
  for (const GridResult& result : results) {
    EXPECT_EQ(result.questions, 2);
    EXPECT_NEAR(result.tokens, result.samples * results[0].tokens, 1e-9) << "all samples are as long on average as one";
    EXPECT_GE(result.passes, results[0].passes - 1e-9);
    EXPECT_LE(result.passes, 5 + 1e-9);
    EXPECT_GT(result.prompt_tokens, 0);
  }
  const HostTimes times = Must(HostTimes::Read(GridTimesPath(folder.Path("grid"))));
  ASSERT_EQ(times.all().size(), 3u);
  for (const HostTime& time : times.all()) {
    EXPECT_EQ(time.questions, 1);
    EXPECT_GT(time.seconds, 0);
    EXPECT_GT(time.tokens, 0);
  }
}

TEST(Grid, ContinuesToTheSameResultsAfterAnyStop) {
  const TemporaryFolder folder;
  Must(RunFor(Options(folder.Path("whole"))));
  const std::string results = TextOf(GridResultsPath(folder.Path("whole")));
  const std::string samples = SortedLines(GridSamplesPath(folder.Path("whole"), "gsm8k"));
  ASSERT_FALSE(results.empty());
  for (const int64_t stop : {1, 3, 6}) {
    GridOptions options = Options(folder.Path(absl::StrCat("stopped_", stop)));
    std::atomic<bool> cancel = false;
    options.kept = [&](int64_t written) { cancel = written >= stop; };
    const absl::Status stopped = RunFor(options, &cancel).status();
    ASSERT_TRUE(absl::IsCancelled(stopped)) << stopped;
    EXPECT_EQ(TextOf(GridResultsPath(options.folder)), "") << "results are written whole";
    int64_t rest = 0;
    options.kept = [&](int64_t written) { rest = written; };
    Must(RunFor(options));
    EXPECT_LE(rest, 8 - stop) << "what was there is not written again";
    EXPECT_EQ(TextOf(GridResultsPath(options.folder)), results) << "byte for byte";
    EXPECT_EQ(SortedLines(GridSamplesPath(options.folder, "gsm8k")), samples);
  }
}

TEST(Grid, MeasuresAndWritesNothingTwice) {
  const TemporaryFolder folder;
  GridOptions options = Options(folder.Path("grid"));
  Must(RunFor(options));
  const std::string times = TextOf(GridTimesPath(options.folder)), results = TextOf(GridResultsPath(options.folder));
  options.kept = [](int64_t) { ADD_FAILURE() << "a sample was written again"; };
  Must(RunFor(options));
  EXPECT_EQ(TextOf(GridTimesPath(options.folder)), times);
  EXPECT_EQ(TextOf(GridResultsPath(options.folder)), results);
  options.counts = {1, 3};
  Must(RunFor(options));
  EXPECT_TRUE(absl::StartsWith(TextOf(GridTimesPath(options.folder)), times)) << "another number is measured beside them";
}

TEST(Grid, RefusesAFolderOfOtherSettingsByTheirName) {
  const TemporaryFolder folder;
  const GridOptions options = Options(folder.Path("grid"));
  Must(RunFor(options));
  const auto refused = [&](const std::function<void(GridOptions&)>& change, const std::string& says) {
    GridOptions other = options;
    change(other);
    const absl::Status status = RunFor(other).status();
    EXPECT_TRUE(absl::StrContains(status.message(), says)) << status << "\nexpected " << says;
  };
  refused([](GridOptions& other) { other.samples.sampling.temperature = 0.5f; },
          "into: " + folder.Path("grid") + "/grid.json: temperature: found 1, expected 0.5, that of this run");
  refused([](GridOptions& other) { other.samples.sampling.seed = 1; }, "seed: found 9, expected 1");
  refused([](GridOptions& other) { other.samples.samples = 5; }, "samples: found 4, expected 5");
  refused([](GridOptions& other) { other.samples.max_tokens = 6; }, "n_predict: found 5, expected 6");
  refused([](GridOptions& other) { other.questions = 1; }, "questions of gsm8k: found 2 of sha256 ");
}

TEST(Grid, ModelsAPhoneBesideTheSameResults) {
  const TemporaryFolder folder;
  GridOptions options = Options(folder.Path("grid"));
  const std::vector<GridResult> without = Must(RunFor(options));
  const PhoneTime phone = Must(PhoneTime::Create({.device = "8gen3", .shape = "qwen2.5-0.5b", .most_samples = 4}));
  options.phone = &phone;
  const std::vector<GridResult> with = Must(RunFor(options));
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) {
    ASSERT_TRUE(with[i].phone.has_value());
    EXPECT_EQ(with[i].phone->device, "8gen3, operators");
    EXPECT_EQ(with[i].phone->shape, "qwen2.5-0.5b");
    EXPECT_GT(with[i].phone->cost.joules, 0);
    EXPECT_GE(with[i].phone->cost.seconds(), with[0].phone->cost.seconds() - 1e-9) << "more samples take no less";
    EXPECT_EQ(with[i].right.mean, without[i].right.mean);
  }
}

TEST(Grid, BeamSearchesAreMethodsToo) {
  const TemporaryFolder folder;
  GridOptions options = Options(folder.Path("grid"));
  options.counts = {1, 4};
  options.methods = {"one", "beam"};
  const std::vector<GridResult> results = Must(RunFor(options));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].method, "beam");
  EXPECT_EQ(results[1].samples, 4);
  EXPECT_EQ(results[1].scorer, "mean_log_probability");
  EXPECT_GT(results[1].tokens, 0);
  EXPECT_GT(results[1].passes, 0);
  const HostTimes times = Must(HostTimes::Read(GridTimesPath(options.folder)));
  EXPECT_NE(times.Find("gsm8k", 4, "mean_log_probability"), nullptr);
  EXPECT_NE(times.Find("gsm8k", 4, ""), nullptr);
  const std::string before = TextOf(GridResultsPath(options.folder));
  Must(RunFor(options));
  EXPECT_EQ(TextOf(GridResultsPath(options.folder)), before);
  options.scorer = "self_certainty";
  Must(RunFor(options));
  const HostTimes both = Must(HostTimes::Read(GridTimesPath(options.folder)));
  EXPECT_NE(both.Find("gsm8k", 4, "self_certainty"), nullptr) << "another scorer's searches are measured, too";
  EXPECT_EQ(both.all().size(), times.all().size() + 1);
}

TEST(Grid, ScoresOfAModelComeFromAFileBesideTheSamples) {
  const TemporaryFolder folder;
  GridOptions options = Options(folder.Path("grid"));
  const std::string head = folder.Path("head");
  const int width = Must(Engine::Open({.model_path = TinyPath("llama")}))->config().width;
  RandomReward(width, 0, 1).WriteTo(head);
  options.scorer = "reward:" + head;
  const absl::Status missing = RunFor(options).status();
  EXPECT_TRUE(absl::StrContains(missing.message(), "tessera_scale score --task=gsm8k --candidates=" + options.folder + "/gsm8k.jsonl "
                                                   "--scorer=reward:" + head + " --into=" + options.folder + "/gsm8k.reward.jsonl"))
      << missing;
  const Task task = Must(ReadTask(kData, "gsm8k"));
  ScoreRunSettings settings = {.task = "gsm8k", .problems_sha256 = HashOfQuestions(task, static_cast<int64_t>(task.problems.size())),
                               .file = "gsm8k.jsonl", .model = ModelSettings(Source().model), .form = "raw",
                               .scorer = Must(ScorerSettings(options.scorer)), .steps = "last"};
  const auto score = [&] {
    std::ifstream samples(GridSamplesPath(options.folder, "gsm8k"));
    std::ofstream scored(options.folder + "/gsm8k.reward.jsonl");
    int number = 0;
    for (std::string line; std::getline(samples, line);) {
      scored << line.substr(0, line.find("\"settings\"")) << "\"reward\":0." << ++number << ",\"settings\":\""
             << ScoreSettings(settings) << "\"}\n";
    }
  };
  for (std::string* const changed : {&settings.scorer, &settings.model, &settings.steps, &settings.problems_sha256}) {
    const std::string right = *changed;
    *changed = "other";
    score();
    const absl::Status other = RunFor(options).status();
    EXPECT_TRUE(absl::StrContains(other.message(), "gsm8k.reward.jsonl, line 1: settings: found score, gsm8k, ")) << other;
    *changed = right;
  }
  score();
  const std::vector<GridResult> results = Must(RunFor(options));
  EXPECT_EQ(results[3].method, "best_of_n");
  EXPECT_EQ(results[3].scorer, "reward");
  RandomReward(width, 0, 2).WriteTo(head);   // Another of the same name.
  const absl::Status other = RunFor(options).status();
  EXPECT_TRUE(absl::StrContains(other.message(), ", expected " + ScoreSettings(settings).substr(0, 12))) << other;
}

TEST(Grid, NumbersThatDoNotFitEachOtherAreRefused) {
  const auto error = [](const std::function<void(GridOptions&)>& change) {
    GridOptions options = Options("grid");
    change(options);
    return std::string(CheckGrid(options).message());
  };
  EXPECT_EQ(error([](GridOptions&) {}), "");
  EXPECT_EQ(error([](GridOptions& o) { o.counts = {1, 8}; }), "counts: found 8, expected at most 4, the samples of each question");
  EXPECT_EQ(error([](GridOptions& o) { o.counts = {2, 4}; }), "counts: found 2, expected 1 first: the method one is judged there");
  EXPECT_TRUE(absl::StrContains(error([](GridOptions& o) { o.counts = {1}; }), "counts: found 1 alone"));
  EXPECT_TRUE(absl::StrContains(error([](GridOptions& o) { o.scorer = "mood"; }), "scorer: found"));
  EXPECT_TRUE(absl::StrContains(error([](GridOptions& o) {
                                  o.samples.samples = 6;
                                  o.counts = {1, 6};
                                  o.methods = {"one", "beam"};
                                }), "counts: found 6, expected multiples of 4"));
}

}  // namespace
}  // namespace tessera
