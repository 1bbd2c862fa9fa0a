// A writer of .tsr files of which each system call that writes fails in turn, or is the last before the process is killed.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/storage/tsr_check.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

const std::vector<int> kWrites = {SCMP_SYS(pwrite64), SCMP_SYS(fallocate), SCMP_SYS(fsync),
                                  SCMP_SYS(sync_file_range), SCMP_SYS(fchmod), SCMP_SYS(renameat)};

class InterruptedWriter : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters: " << std::strerror(errno);
    if (kThreadSanitized) GTEST_SKIP() << "it allows no threads after a fork";
    CHECK_EQ(WriteTsrSample(path_, kNew), absl::OkStatus());
    new_ = Contents();
    WriteOld();
    old_ = Contents();
  }

  void WriteOld() const { CHECK_EQ(WriteTsrSample(path_, MakeTsrSample({100})), absl::OkStatus()); }

  std::string Contents() const { return *ReadFileToString(path_, 1 << 20); }

  struct Ended {
    int result;           // As waitpid tells it.
    std::string message;  // What the writer said went wrong.
  };

  // Another process replaces the file. What answer(call) says is what comes of the write of this number, from 0 on.
  template <typename Answer>
  Ended Replace(int number, const Answer& answer) const {
    int ends[2];
    PCHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      int calls = 0;
      const auto at_number = [&](pid_t, const seccomp_data& call) { return calls++ == number ? answer(call) : std::nullopt; };
      WithAnswers(kWrites, at_number, [&] {
        const absl::Status status = WriteTsrSample(path_, kNew);
        const std::string message(status.message());
        _exit(status.ok() || write(ends[1], message.data(), message.size()) < 0 ? 0 : 1);
      });
    }
    close(ends[1]);
    Ended ended = {-1, std::string(1000, '\0')};
    ended.message.resize(std::max<ssize_t>(read(ends[0], ended.message.data(), ended.message.size()), 0));
    close(ends[0]);
    CHECK_EQ(waitpid(child, &ended.result, 0), child);
    return ended;
  }

  // What is there is whole; what lies beside it and can be opened is so, too.
  void ExpectWholeFiles() const {
    ThreadPool pool(1);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const absl::StatusOr<std::unique_ptr<TsrReader>> reader = TsrReader::Open(entry.path());
      if (!reader.ok()) continue;
      EXPECT_TRUE(FindDamage(**reader, pool, [](int64_t, int64_t) {}).empty()) << entry.path();
    }
  }

  static inline const TsrSample kNew = MakeTsrSample({5000, 70'000});
  const TemporaryFolder folder_{TemporaryFolder::InMemory()};
  const std::string path_ = folder_.Path("model.tsr");
  std::string old_, new_;
};

// The half of a write that was under way.
void WriteHalf(const seccomp_data& call) {
  if (call.nr != SCMP_SYS(pwrite64)) return;
  const auto bytes = reinterpret_cast<const void*>(call.args[1]);
  PCHECK(pwrite(static_cast<int>(call.args[0]), bytes, call.args[2] / 2, static_cast<off_t>(call.args[3])) >= 0);
}

// The file's folder comes to the disk last, after the new file has taken its place.
TEST_F(InterruptedWriter, AKillAtAnyWriteLeavesTheOldFileOrTheNew) {
  const auto die = [](const seccomp_data& call) -> std::optional<int64_t> {
    WriteHalf(call);
    kill(getpid(), SIGKILL);
    return std::nullopt;
  };
  int old = 0, number = 0;
  for (;; ++number) {
    SCOPED_TRACE(number);
    const Ended ended = Replace(number, die);
    const std::string found = Contents();
    ASSERT_TRUE(found == old_ || found == new_);
    if (WIFEXITED(ended.result)) break;  // It has no write of this number.
    ASSERT_EQ(WTERMSIG(ended.result), SIGKILL);
    old += found == old_;
    ExpectWholeFiles();
    ASSERT_EQ(folder_.Files(), found == old_ ? 2 : 1) << "beside the old file lies what the killed one left";
    WriteOld();
    ASSERT_EQ(folder_.Files(), 1) << "and goes with the next";
  }
  EXPECT_GE(number, 20);
  EXPECT_EQ(old, number - 1);
  EXPECT_EQ(Contents(), new_);
}

TEST_F(InterruptedWriter, AnyWriteThatFailsLeavesTheOldFileOrTheNewAndNothingElse) {
  for (const int error : {EDQUOT, ENOSPC, EIO}) {
    const auto fail = [error](const seccomp_data& call) -> std::optional<int64_t> {
      WriteHalf(call);
      return -error;
    };
    int old = 0, number = 0;
    for (WriteOld();; ++number) {
      SCOPED_TRACE(testing::Message() << number << ": " << std::strerror(error));
      const Ended ended = Replace(number, fail);
      ASSERT_TRUE(WIFEXITED(ended.result)) << ended.result;
      ASSERT_EQ(folder_.Files(), 1);
      if (WEXITSTATUS(ended.result) == 0) break;
      EXPECT_TRUE(absl::StartsWith(ended.message, path_ + ": ")) << ended.message;
      EXPECT_TRUE(absl::StrContains(ended.message, std::strerror(error))) << ended.message;
      old += Contents() == old_;
    }
    EXPECT_GE(number, 20);
    EXPECT_EQ(old, number - 1);
    EXPECT_EQ(Contents(), new_);
  }
}

}  // namespace
}  // namespace tessera
