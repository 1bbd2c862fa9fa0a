// Folders and files that another process keeps locked: a run waits for two seconds, and then says who has what.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class LockedFolder : public testing::Test {
 protected:
  ~LockedFolder() override {
    if (lock_ >= 0) close(lock_);
  }

  void Lock(const std::string& path, int flags) {
    lock_ = open(path.c_str(), flags | O_CLOEXEC, 0600);
    ASSERT_GE(lock_, 0) << path;
    ASSERT_EQ(flock(lock_, LOCK_EX), 0);
  }
  Ended Run(const std::vector<std::string>& more, const std::string& input = "") const {
    std::vector<std::string> flags = {"--model=" + TinyPath("llama"), "--threads=1", "--temperature=0", "--n_predict=4"};
    flags.insert(flags.end(), more.begin(), more.end());
    const auto prepare = [this] { setenv("TESSERA_CACHE", folder_.Path("cache").c_str(), 1); };
    return Program("tessera_generate", flags, prepare).Finish(input);
  }
  // The last words of a run, after its text.
  void ExpectRefused(const Ended& ended, const std::string& said) const {
    EXPECT_EQ(ended.code, 1) << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, said)) << ended.errors;
    if (access("/proc/locks", R_OK) != 0) return;
    EXPECT_TRUE(absl::StrContains(ended.errors, absl::StrCat("process ", getpid(), " ("))) << ended.errors;
  }

  const TemporaryFolder folder_;
  int lock_ = -1;
};

TEST_F(LockedFolder, OfASessionIsNamedWithTheFile) {
  const std::string path = folder_.Path("kept");
  Lock(folder_.path(), O_RDONLY | O_DIRECTORY);
  const Ended ended = Run({"--raw", "--prompt=the", "--session=" + path});
  EXPECT_NE(ended.output, "");
  ExpectRefused(ended, absl::StrCat(path, ": not written: ", folder_.path(), "/: found its lock (flock) held by "));
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(LockedFolder, OfAHistoryIsNamed) {
  const std::string histories = folder_.Path("cache/history");
  std::filesystem::create_directories(histories);
  Lock(histories, O_RDONLY | O_DIRECTORY);
  const Ended ended = Run({"--raw", "--prompt=the", "--history=mail"});
  EXPECT_NE(ended.output, "");
  ExpectRefused(ended, absl::StrCat("history not saved: ", histories, ": found its lock (flock) held by "));
  EXPECT_TRUE(std::filesystem::is_empty(histories));
}

TEST_F(LockedFolder, AFileOfAnswersIsNamedAtOnce) {
  const std::string path = folder_.Path("answers");
  Lock(path, O_RDWR | O_CREAT);
  const Ended ended = Run({"--jsonl", "--into=" + path}, "{\"id\": 1, \"text\": \"the\"}\n");
  EXPECT_NE(ended.code, 0);
  EXPECT_TRUE(absl::StrContains(ended.errors, path + ": found another run that adds to it, expected none")) << ended.errors;
  if (access("/proc/locks", R_OK) == 0) {
    EXPECT_TRUE(absl::StrContains(ended.errors, absl::StrCat("; process ", getpid(), " ("))) << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
