#include "tessera/apps/cli/warnings.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <tuple>

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// From here on threads would get stacks for which there is no room.
void RefuseThreads() {
  pthread_attr_t attributes;
  CHECK_EQ(pthread_attr_init(&attributes), 0);
  CHECK_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
  CHECK_EQ(pthread_setattr_default_np(&attributes), 0);
}

TEST(Warnings, HeaderExample) {
  const PackedTiny model({});
  const auto engine = Must(Engine::Load({.model_path = model.packed(), .compute = {.threads = 1}}));
  FLAGS_minloglevel = google::GLOG_WARNING;
  testing::internal::CaptureStderr();
  WarnOfShortages(*engine);
  WarnOfHistory(nullptr);
  FLAGS_minloglevel = google::GLOG_ERROR;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing is short";
}

TEST(Warnings, AContextAboveTheTrainedOneIsSaid) {
  const PackedTiny model({.context = 128});
  for (const auto& [context, warned] : {std::pair(128, false), std::pair(129, true)}) {
    const auto engine = Must(Engine::Load({.model_path = model.packed(), .compute = {.threads = 1}, .cache = {.context = context}}));
    FLAGS_minloglevel = google::GLOG_WARNING;
    testing::internal::CaptureStderr();
    WarnOfShortages(*engine);
    FLAGS_minloglevel = google::GLOG_ERROR;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(absl::StrContains(said, "context: found 129 tokens, the model was trained for 128; "), warned) << said;
  }
}

// Loading goes on without its threads, whose stacks do not fit, and a program says so.
TEST(Warnings, ThreadsThatLoadingDidNotGetAreSaidOnce) {
  const PackedTiny model({});
  const auto run = [&] {
    FLAGS_minloglevel = google::GLOG_WARNING;   // As programs have it.
    const auto engine = Must(Engine::Open({.model_path = model.packed(), .compute = {.threads = 1}}));
    RefuseThreads();
    const bool loaded = engine->LoadWeights().ok() && engine->AwaitWeights().ok();
    WarnOfShortages(*engine);
    std::fputs("again:", stderr);
    WarnOfShortages(*engine);
    std::_Exit(loaded ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "tiny.tsr: read by only 0 of [0-9]+ threads[^\n]*\n*again:$");
}

TEST(Warnings, EveryProgramWarnsOfAContextOrThreadsBeyondTheLimit) {
  const PackedTiny model({.context = 128});
  const TemporaryFolder folder;
  const std::string packed = "--model=" + model.packed(), gguf = "--model=" + TinyPath("llama"), out = "--out=" + folder.Path("out");
  const std::string context = "context: found 129 tokens, the model was trained for 128; ", threads = "threads: found 256, takes ";
  const std::vector<std::string> one = {packed, "--context=129", "--threads=1", "--repetitions=1"};
  const std::tuple<std::string, std::vector<std::string>, std::string> cases[] = {
      {"tessera_bench rows", {"--rows=1"}, context},
      {"tessera_bench speed", {"--prompt_tokens=4", "--generate_tokens=1"}, context},
      {"tessera_bench attention", {"--depths=8", "--prompt_tokens=4", "--generate_tokens=1"}, context},
      {"tessera_bench overhead", {"--generate_tokens=64"}, context},
      {"tessera_bench batch",
       {"--together=1", "--writers=1", "--generate_tokens=2", "--prompt_tokens=2", "--long_prompt=0", "--speculate=none"}, context},
      {"tessera_pack", {gguf, out, "--threads=256"}, threads},
      {"tessera_quantize", {gguf, out, "--threads=256", "--head_format=Q4_1"}, threads},
      {"tessera_random_model", {out, "--threads=256", "--shape=tiny"}, threads},
  };
  for (const auto& [program, flags, warning] : cases) {
    std::vector<std::string> all = warning == context ? one : std::vector<std::string>();
    all.insert(all.end(), flags.begin(), flags.end());
    const Ended ended = RunProgram(program, all);
    std::filesystem::remove(folder.Path("out"));
    EXPECT_EQ(ended.code, 0) << program << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, warning)) << program << ": " << ended.errors;
  }
}

TEST(Warnings, ThreadsBeyondCpusOrTheirQuotaAreSaid) {
  EXPECT_EQ(ThreadsWarning(/*asked=*/0, /*taken=*/4, /*quota=*/1.5), "");
  EXPECT_EQ(ThreadsWarning(2, 2, std::nullopt), "");
  EXPECT_EQ(ThreadsWarning(1, 1, 1.5), "") << "the quota's whole CPUs";
  EXPECT_EQ(ThreadsWarning(2, 2, 1.5), "threads: found 2; a quota grants the time of 1.5 CPUs, for which threads then wait");
  EXPECT_EQ(ThreadsWarning(4, 2, std::nullopt), "threads: found 4, takes 2, one for each CPU that may be used");
  EXPECT_EQ(ThreadsWarning(4, 4, 1.5), "threads: found 4; a quota grants the time of 1.5 CPUs, for which threads then wait");
  EXPECT_EQ(ThreadsWarning(8, 4, 1.5), "threads: found 8, takes 4, one for each CPU that may be used; a quota grants the time of 1.5 "
                                       "CPUs, for which threads then wait");
}

TEST(Warnings, AreSaidOnceAlsoByProcessesThatAreForked) {
  const auto run = [] {
    ShareWhatIsSaid();
    for (int i = 0; i < 2; ++i) {
      const pid_t process = fork();
      if (process == 0) {
        for (const char* text : {"one ", "two ", "one "}) {
          if (IsSaidFirst(text)) std::fputs(text, stderr);
        }
        std::_Exit(0);
      }
      waitpid(process, nullptr, 0);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "^one two $");
}

TEST(Warnings, MarksThatAFileTypesAsTextAreSaid) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(std::vector<int32_t>(265, 1)));
  const auto warn = [tokenizer = OpenTokenizer(metadata)] {
    FLAGS_minloglevel = google::GLOG_WARNING;
    WarnOfVocabulary(*tokenizer);
    std::_Exit(0);
  };
  EXPECT_EXIT(warn(), testing::ExitedWithCode(0), "found the type of plain text for \"<.im_start.>\", \"<.im_end.>\", expected");
}

}  // namespace
}  // namespace tessera
