// Where the system gives no thread, no file descriptor or no memory: every program works all the same, or ends with an error that says
// what.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/programs/short_run.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct OneRun {
  std::string program;
  std::vector<std::string> arguments;
};

// Short runs of each program, and streamed ones.
std::vector<OneRun> Runs(const PackedModel& packed) {
  std::vector<OneRun> runs;
  for (const std::string& program : WorkingPrograms()) runs.push_back({program, ShortRun(program)});
  const std::vector<std::string> streamed = {"--model=" + packed.path(), "--memory_budget=1GiB", "--pin=none", "--n_predict=2"};
  runs.push_back({"tessera_generate", streamed});
  runs.push_back({"tessera_generate", {"--model=" + packed.path(), "--n_predict=2", "--chat"}});
  return runs;
}

void ExpectRightOrRefused(const OneRun& run, const std::function<void()>& limit, const std::string& limited) {
  signal(SIGPIPE, SIG_IGN);
  const std::string what = absl::StrCat(run.program, " with ", limited, ": ");
  const Ended ended = Program(run.program, run.arguments, limit).Finish("the in the");
  EXPECT_TRUE(ended.code == 0 || ended.code == 1) << what << ended.code << ended.errors;
  if (ended.code != 1) return;
  const std::string last = std::vector<std::string>(absl::StrSplit(ended.errors, '\n', absl::SkipEmpty())).back();
  const std::string name = std::vector<std::string>(absl::StrSplit(run.program, ' '))[0];
  EXPECT_TRUE(absl::StrContains(ended.errors, name) && last.size() > 25) << what << ended.errors;
}

class NoResources : public testing::Test {
 protected:
  const PackedModel packed_{TinyPath("llama")};
  const TemporaryFolder cache_;
  const CacheFolderFor folder_{cache_.path()};
};

TEST_F(NoResources, NoThreadToBeHad) {
  if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters";
  for (const OneRun& run : Runs(packed_)) {
    ExpectRightOrRefused(run, [] {
      Restrict(SCMP_SYS(clone3), SCMP_ACT_ERRNO(EAGAIN));
      Restrict(SCMP_SYS(clone), SCMP_ACT_ERRNO(EAGAIN));
    }, "no threads");
  }
}

// Each program fails at every place at which it opens something. The first three descriptors are taken, and one more is needed to start it.
TEST_F(NoResources, NoFileDescriptorToBeHad) {
  for (const OneRun& run : Runs(packed_)) {
    for (rlim_t files = 4; files < 12; ++files) {
      ExpectRightOrRefused(run, [files] {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // Those of whatever runs the tests.
        const rlimit limit = {files, files};
        setrlimit(RLIMIT_NOFILE, &limit);
      }, absl::StrCat(files, " files"));
    }
  }
}

TEST_F(NoResources, NoMemoryToBeHad) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow needs more room than the limit leaves";
  for (const OneRun& run : Runs(packed_)) {
    for (const rlim_t mib : {60, 80, 100, 140, 200, 300}) {
      ExpectRightOrRefused(run, [mib] {
        const rlimit limit = {mib << 20, mib << 20};
        setrlimit(RLIMIT_AS, &limit);
      }, absl::StrCat(mib, " MiB"));
    }
  }
}

// As when a program is cut that runs, or a mapped file.
TEST_F(NoResources, APageThatIsLostIsAnErrorAndNoSignal) {
  Program program("tessera_tokenize", {"--model=" + TinyPath("llama"), "--jsonl"});
  program.Write("{\"id\": 1, \"text\": \"a\"}\n");
  EXPECT_NE(program.FirstOutput(), "");
  program.Signal(SIGBUS);
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "tessera_tokenize: a page of a mapped file cannot be read")) << ended.errors;
}

// A limit on the size of files stands for the disk: both are found only when bytes are written.
TEST_F(NoResources, AFullDiskIsNoWrongUsage) {
  const auto full = [] {
    const rlimit limit = {8, 8};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  for (const std::string& flag : {"--trace=" + cache_.Path("trace"), std::string("--history=mail")}) {
    const Ended ended = Program("tessera_generate", {"--model=" + TinyPath("llama"), "--n_predict=2", flag}, full).Finish("the");
    EXPECT_EQ(ended.code, 1) << flag << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, cache_.path())) << ended.errors;
    EXPECT_NE(ended.output, "") << "the text is there";
  }
  EXPECT_FALSE(std::filesystem::exists(cache_.Path("trace")));
}

TEST_F(NoResources, NoHomeIsAnErrorWhereTheCacheIsNeeded) {
  const auto homeless = [] {
    unsetenv("HOME");
    unsetenv("TESSERA_CACHE");
  };
  const auto run = [&](const std::vector<std::string>& flags) { return Program("tessera_generate", flags, homeless).Finish("the"); };
  const std::string model = "--model=" + TinyPath("llama");
  EXPECT_EQ(run({model, "--n_predict=2"}).code, 0) << "nothing is needed of it";
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--n_predict=2"}, {model, "--n_predict=2", "--history=mail"}}) {
    const Ended ended = run(flags);
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(absl::StrContains(ended.errors, "HOME")) << ended.errors;
    EXPECT_EQ(ended.output, "");
  }
}

}  // namespace
}  // namespace tessera
