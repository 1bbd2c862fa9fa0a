#include "tessera/apps/cli/flags/sampling_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <gflags/gflags.h>

#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"  // After tiny_model.h: both have a TinyModel.
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

class RecommendedByTheFile : public testing::Test {
 protected:
  // A model that recommends a few things, and one step that the sampler does not have.
  RecommendedByTheFile() : path_(folder_.Path("model.gguf")) {
    GgufBuilder builder = TinyModelBuilder({.writes_letters = true});
    builder.Number("general.sampling.temp", 0.0f).Number("general.sampling.top_k", 7).Number("general.sampling.mirostat", 2);
    builder.WriteTo(path_);
  }

  Ended Generate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--model=" + path_, "--raw", "--prompt=abc", "--n_predict=24", "--speculate=none", "--seed=3"});
    return RunProgram("tessera_generate", arguments);
  }

  const TemporaryFolder folder_;
  const std::string path_;
};

TEST_F(RecommendedByTheFile, HeaderExample) {
  const auto engine = Must(Engine::Open({.model_path = path_, .compute = {.threads = 1}}));
  const bool FLAGS_stats = true;
  std::string written;
  const auto WriteError = [&](const std::string& text) { written += text; };
  float temperature = -1;
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckSamplingFlags());
    ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine->model().gguf()));
    if (FLAGS_stats) WriteError(SamplingText(engine->model().gguf()));
    temperature = sampling.temperature;
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(temperature, 0);
  EXPECT_EQ(written, "sampling: temperature 0, top_k 7 (file); top_p 0.95, min_p 0.05, repetition_penalty 1, "
                     "penalty_window 64 (default); seed 0\n");
}

TEST_F(RecommendedByTheFile, IsTakenUnlessAFlagIsGivenAndPrinted) {
  const Ended plain = Generate({"--stats"}), greedy = Generate({"--stats", "--temperature=0"});
  const Ended hot = Generate({"--stats", "--temperature=3"});
  ASSERT_EQ(plain.code, 0) << plain.errors;
  ASSERT_EQ(hot.code, 0) << hot.errors;
  EXPECT_EQ(plain.output, greedy.output);
  EXPECT_NE(plain.output, hot.output);
  EXPECT_NE(plain.errors.find("sampling: temperature 0, top_k 7 (file); top_p 0.95,"), std::string::npos) << plain.errors;
  EXPECT_NE(hot.errors.find("sampling: temperature 3 (flag); top_k 7 (file); top_p 0.95,"), std::string::npos) << hot.errors;
}

// The name of a family, and nothing about sampling.
TEST_F(RecommendedByTheFile, AFamilysValuesAreTakenWhereTheFileSaysNothing) {
  GgufBuilder builder = TinyModelBuilder({.writes_letters = true});
  builder.String("general.basename", "SmolLM2").String("tokenizer.chat_template", "{{ messages[0].content }}");
  builder.Number("general.sampling.top_k", 7);
  builder.WriteTo(path_);
  const Ended plain = Generate({"--stats"}), said = Generate({"--stats", "--temperature=0.2", "--top_p=0.9", "--top_k=7"});
  ASSERT_EQ(plain.code, 0) << plain.errors;
  EXPECT_EQ(plain.output, said.output);
  EXPECT_NE(plain.errors.find("sampling: temperature 0.2, top_p 0.9 (SmolLM2); top_k 7 (file); min_p 0.05, repetition_penalty 1, "
                              "penalty_window 64 (default); seed 3\n"), std::string::npos) << plain.errors;
  const Ended hot = Generate({"--stats", "--temperature=3"});
  EXPECT_NE(hot.output, plain.output);
  EXPECT_NE(hot.errors.find("temperature 3 (flag); top_k 7 (file); top_p 0.9 (SmolLM2);"), std::string::npos) << hot.errors;
  EXPECT_EQ(Generate({"--temperature=0"}).output, Generate({"--temperature=0", "--top_k=1", "--top_p=1"}).output);
}

TEST_F(RecommendedByTheFile, AModelOfNoFamilyHasTheUsualValues) {
  TinyModelBuilder({.writes_letters = true}).WriteTo(path_);
  const Ended ended = Generate({"--stats"});
  EXPECT_NE(ended.errors.find("sampling: temperature 0.8, top_k 40, top_p 0.95, min_p 0.05, repetition_penalty 1, "
                              "penalty_window 64 (default); seed 3\n"), std::string::npos) << ended.errors;
}

TEST_F(RecommendedByTheFile, ValuesThatWereSetSinceAreShownAsSuch) {
  const auto engine = Must(Engine::Open({.model_path = path_, .compute = {.threads = 1}}));
  SamplingOptions used = Must(SamplingFor(engine->model().gguf()));
  used.top_p = 0.5f;
  used.seed = 9;
  EXPECT_EQ(SamplingText(engine->model().gguf(), &used), "sampling: temperature 0, top_k 7 (file); top_p 0.5 (set); min_p 0.05, "
                                                         "repetition_penalty 1, penalty_window 64 (default); seed 9\n");
}

TEST_F(RecommendedByTheFile, APenaltyThatNoFlagGivesIsLeftOutBesideBeams) {
  GgufBuilder builder = TinyModelBuilder({.writes_letters = true});
  builder.Number("general.sampling.penalty_repeat", 1.5f).WriteTo(path_);
  const Ended ended = Generate({"--beam=2x2", "--stats"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.errors.find("repetition_penalty 1.5 (file) is left out beside --beam"), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("repetition_penalty 1 (beam)"), std::string::npos) << ended.errors;
  EXPECT_EQ(Generate({"--beam=2x2", "--repetition_penalty=1.5"}).code, 2) << "a flag is used or refused";
  EXPECT_EQ(Generate({"--beam=2x2", "--repetition_penalty=1"}).errors.find("left out"), std::string::npos);
}

// What the flags leave out is the model's; what a request says counts for this request alone.
TEST_F(RecommendedByTheFile, ARequestOverridesOneValue) {
  GgufBuilder builder = TinyModelBuilder({.writes_letters = true});
  builder.String("general.basename", "SmolLM2").String("tokenizer.chat_template", "{{ messages[0].content }}");
  builder.WriteTo(path_);
  const auto answers = [&](std::vector<std::string> flags, const std::string& more) {
    flags.insert(flags.end(), {"--model=" + path_, "--jsonl", "--speculate=none", "--seed=3"});
    const Ended ended = RunProgram("tessera_generate", flags, "{\"id\": 1, \"text\": \"abc\", \"n\": 24" + more + "}\n");
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended.output.substr(0, ended.output.find("\"seconds\""));
  };
  EXPECT_EQ(answers({}, ""), answers({"--temperature=0.2", "--top_p=0.9"}, ""));
  EXPECT_NE(answers({}, ", \"temperature\": 3"), answers({}, ""));
  EXPECT_EQ(answers({}, ", \"temperature\": 3"), answers({"--top_p=0.9"}, ", \"temperature\": 3"));
}

TEST_F(RecommendedByTheFile, AStepThatThereIsNotIsAWarning) {
  const Ended ended = Generate({});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.errors.find(path_ + ": recommends sampling that there is not here: general.sampling.mirostat"), std::string::npos)
      << ended.errors;
}

TEST_F(RecommendedByTheFile, AValueThatCannotBeIsAnError) {
  GgufBuilder builder = TinyModelBuilder({});
  builder.Number("general.sampling.top_p", 2.0f).WriteTo(path_);
  const Ended ended = Generate({});
  EXPECT_EQ(ended.code, 1) << ended.errors;
  EXPECT_NE(ended.errors.find("metadata \"general.sampling.top_p\" value at byte "), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("found FLOAT32 2, expected above 0, at most 1"), std::string::npos) << ended.errors;
  EXPECT_EQ(Generate({"--top_p=0.5"}).code, 0) << "the flag is above the file";
  EXPECT_EQ(Generate({"--top_k=5"}).code, 1);
}

// Without --stats, too.
TEST_F(RecommendedByTheFile, ALineNamesTheRecommendedValuesInUse) {
  const std::string line = "sampling as the model's file recommends: ";
  EXPECT_NE(Generate({}).errors.find(line + "temperature 0\n"), std::string::npos) << "top_k has no effect then";
  EXPECT_NE(Generate({"--temperature=3"}).errors.find(line + "top_k 7\n"), std::string::npos);
  EXPECT_EQ(Generate({"--temperature=3", "--top_k=9"}).errors.find(line), std::string::npos);
  EXPECT_EQ(Generate({"--stats"}).errors.find(line), std::string::npos);
}

TEST_F(RecommendedByTheFile, AFlagThatTheFileLeavesNothingToDoIsNamed) {
  const std::string warning = "of no effect: --top_k with temperature 0\n";
  EXPECT_NE(Generate({"--top_k=5"}).errors.find(warning), std::string::npos);
  EXPECT_EQ(Generate({"--top_k=5", "--temperature=1"}).errors.find(warning), std::string::npos);
}

// Both ways of tessera_verify have the same to say.
TEST_F(RecommendedByTheFile, AreSaidOnceByTwoProcesses) {
  const Ended ended = RunProgram("tessera_verify", {"--model=" + path_, "--prompts=-", "--n_predict=2", "--raw", "--top_k=5",
                                                    "--a=threads=1", "--b=threads=1 rows=2"}, "abc\n");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  for (const char* said : {"sampling as the model's file recommends: temperature 0\n", "recommends sampling that there is not here",
                           "of no effect: --top_k with temperature 0\n"}) {
    const size_t first = ended.errors.find(said);
    ASSERT_NE(first, std::string::npos) << said << " in " << ended.errors;
    EXPECT_EQ(ended.errors.find(said, first + 1), std::string::npos) << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
