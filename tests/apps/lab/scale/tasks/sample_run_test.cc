// Many samples of many problems: the texts of separate runs, whatever is written together, and what their file keeps.
#include "tessera/apps/lab/scale/tasks/sample_run.h"

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Samples = std::map<std::pair<std::string, int>, Sample>;

std::unique_ptr<Engine> EngineFor(const SampleOptions& options) {
  EngineOptions engine = {.compute = {.threads = 1}};
  Must(PlanSamples(options, engine));
  return TinyEngine({.writes_letters = true, .seed = 3}, engine);
}

std::vector<SampleProblem> Problems() {
  return {{.id = "a", .prompt = RandomTokens(30, 1)},
          {.id = "b", .prompt = RandomTokens(7, 2)},
          {.id = "c", .prompt = RandomTokens(19, 3)}};
}

Samples Written(const SampleOptions& options, const Samples& before = {}) {
  const std::unique_ptr<Engine> engine = EngineFor(options);
  Samples written;
  Must(WriteSamples(*engine, Problems(), options,
                    [&](absl::string_view id, int sample) { return before.contains({std::string(id), sample}); },
                    [&](const Sample& sample) {
                      EXPECT_TRUE(written.emplace(std::pair(sample.id, sample.sample), sample).second) << "twice";
                      return absl::OkStatus();
                    }));
  return written;
}

void ExpectSame(const Samples& a, const Samples& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, sample] : a) {
    const auto other = b.find(name);
    ASSERT_TRUE(other != b.end()) << name.first << name.second;
    EXPECT_EQ(sample.text, other->second.text);
    EXPECT_EQ(sample.finish, other->second.finish);
    EXPECT_EQ(sample.mean_log_probability, other->second.mean_log_probability) << "to the bit";
    EXPECT_EQ(sample.self_certainty, other->second.self_certainty);
  }
}

TEST(SampleRun, EachSampleEqualsTheSampleAlone) {
  const SampleOptions options = {.samples = 5, .together = 4, .sampling = {.temperature = 1, .seed = 9}, .max_tokens = 12};
  const Samples written = Written(options);
  ASSERT_EQ(written.size(), 15u);
  const std::unique_ptr<Engine> engine = EngineFor(options);
  const std::unique_ptr<Session> session = Must(engine->NewSession());
  const Sampler sampler = Must(Sampler::Create(options.sampling));
  for (const SampleProblem& problem : Problems()) {
    for (int sample = 0; sample < options.samples; ++sample) {
      session->Truncate(0);
      Must(session->Append(problem.prompt));
      TextConfidence confidence;
      const Generation alone = Must(Generate(*session, sampler, {.max_tokens = options.max_tokens, .stream = static_cast<uint64_t>(sample),
                                                                 .starts_text = true, .on_token = confidence.Listener()}));
      const Sample& together = written.at({problem.id, sample});
      EXPECT_EQ(together.text, alone.text) << problem.id << sample;
      EXPECT_EQ(together.tokens, static_cast<int64_t>(alone.tokens.size()));
      EXPECT_EQ(together.finish, FinishReasonName(alone.reason));
      EXPECT_EQ(together.mean_log_probability, confidence.mean_log_probability());
      EXPECT_EQ(together.self_certainty, confidence.self_certainty());
    }
  }
}

TEST(SampleRun, NothingDependsOnHowManyAreWrittenTogether) {
  SampleOptions options = {.samples = 4, .together = 1, .sampling = {.temperature = 1, .seed = 2}, .max_tokens = 9};
  const Samples one = Written(options);
  for (const int together : {3, 16}) {
    options.together = together;
    ExpectSame(one, Written(options));
  }
}

TEST(SampleRun, WrittenSamplesAreNotWrittenAgainAndTheRestIsTheSame) {
  const SampleOptions options = {.samples = 4, .together = 3, .sampling = {.temperature = 1, .seed = 2}, .max_tokens = 9};
  const Samples all = Written(options);
  Samples before, rest;
  for (const auto& [name, sample] : all) (name.second % 2 == 0 ? before : rest).emplace(name, sample);
  ExpectSame(Written(options, before), rest);
  EXPECT_TRUE(Written(options, all).empty());
}

TEST(SampleRun, AnErrorOfKeepingEndsTheRun) {
  const SampleOptions options = {.samples = 4, .together = 3, .max_tokens = 3};
  const std::unique_ptr<Engine> engine = EngineFor(options);
  int kept = 0;
  const auto report = WriteSamples(*engine, Problems(), options, [](absl::string_view, int) { return false; },
                                   [&](const Sample&) { return ++kept < 3 ? absl::OkStatus() : absl::ResourceExhaustedError("full"); });
  EXPECT_TRUE(absl::StrContains(report.status().message(), "full")) << report.status();
  EXPECT_LT(kept, 12);
}

TEST(SampleRun, AProblemThatDoesNotFitIsNamed) {
  const SampleOptions options = {.samples = 1, .together = 1, .max_tokens = 3};
  const std::unique_ptr<Engine> engine = EngineFor(options);
  const std::vector<SampleProblem> problems = {{.id = "long", .prompt = RandomTokens(engine->context() + 1, 1)}};
  const auto report = WriteSamples(*engine, problems, options, [](absl::string_view, int) { return false; },
                                   [](const Sample&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::StartsWith(report.status().message(), "problem long: prompt: found")) << report.status();
}

Sample Made(const std::string& id, int sample) { return {.id = id, .sample = sample, .text = "a\n\"b\"", .finish = "length", .tokens = 3}; }

TEST(SampleFile, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("samples.jsonl");
  {
    SampleFile file = Must(SampleFile::Open(path, "gsm8k, seed 0"));
    EXPECT_FALSE(file.Has("1", 3));
    Must(file.Add(Made("1", 3)));
    Must(file.Sync());
    EXPECT_TRUE(file.Has("1", 3));
  }
  const SampleFile again = Must(SampleFile::Open(path, "gsm8k, seed 0"));
  EXPECT_EQ(again.size(), 1);
  EXPECT_TRUE(again.Has("1", 3));
  EXPECT_FALSE(again.Has("1", 2));
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SampleFile, AnUnfinishedLineIsCutOffAtAnyLength) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("samples.jsonl");
  Must(Must(SampleFile::Open(path, "s")).Add(Made("1", 0)));
  const std::string first = TextOf(path);
  Must(Must(SampleFile::Open(path, "s")).Add(Made("1", 1)));
  const std::string whole = TextOf(path);
  for (size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(path) << whole.substr(0, size);
    const absl::StatusOr<SampleFile> file = SampleFile::Open(path, "s");
    ASSERT_TRUE(file.ok()) << size << file.status();
    EXPECT_EQ(file->size(), size == whole.size() ? 2 : size >= first.size() ? 1 : 0) << size;
    EXPECT_EQ(TextOf(path), size == whole.size() ? whole : size >= first.size() ? first : "") << size;
  }
}

TEST(SampleFile, AFileThatCannotBeContinuedIsRefusedByLine) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("samples.jsonl");
  Must(Must(SampleFile::Open(path, "s")).Add(Made("1", 0)));
  const std::string line = TextOf(path);
  const auto error = [&](const std::string& text, const std::string& settings) {
    std::ofstream(path) << text;
    const std::string message(SampleFile::Open(path, settings).status().message());
    EXPECT_EQ(TextOf(path), text) << "it is as it was";
    return message;
  };
  EXPECT_TRUE(absl::StrContains(error(line, "t"), "line 1: settings: found s, expected t, those of this run"));
  EXPECT_TRUE(absl::StrContains(error(line + line, "s"), "line 2: sample: found 0 of problem \"1\" again, expected each once"));
  EXPECT_TRUE(absl::StrContains(error("{\"id\": \"1\"}\n", "s"), "line 1: sample"));
  EXPECT_TRUE(absl::StrContains(error("not JSON\n", "s"), "line 1"));
  EXPECT_TRUE(absl::StrContains(SampleFile::Open(folder.path(), "s").status().message(), "cannot open"));
}

TEST(SampleFile, TwoRunsDoNotAddToOneFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("samples.jsonl");
  const SampleFile file = Must(SampleFile::Open(path, "s"));
  EXPECT_TRUE(absl::IsFailedPrecondition(SampleFile::Open(path, "s").status()));
}

}  // namespace
}  // namespace tessera
