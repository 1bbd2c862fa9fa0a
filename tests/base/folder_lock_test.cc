#include "tessera/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

absl::Status AppendLine(const std::string& path, const std::string& line) {
  const absl::StatusOr<std::string> before = ReadFileToString(path, 1 << 20);
  return WriteFileAtomically(path, absl::StrCat(before.value_or(""), line, "\n"));
}

TEST(FolderLock, HeaderExample) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path(), line = "some";
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(WithFolderLocked(folder, [&] { return AppendLine(folder + "/list", line); }));
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(*ReadFileToString(folder + "/list", 100), "some\n");
}

TEST(FolderLock, NothingIsLostThatManyAdd) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        EXPECT_EQ(WithFolderLocked(folder.path(), [&] { return AppendLine(folder.Path("list"), "x"); }), absl::OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadFileToString(folder.Path("list"), 1 << 20)->size(), 2u * 4 * 25);
}

TEST(FolderLock, GivesTheErrorOfTheWorkAndTheFolderBack) {
  const TemporaryFolder folder;
  const absl::Status error = absl::DataLossError("spoiled");
  EXPECT_EQ(WithFolderLocked(folder.path(), [&] { return error; }), error);
  EXPECT_EQ(WithFolderLocked(folder.path(), [] { return absl::OkStatus(); }), absl::OkStatus());
  EXPECT_EQ(WithFolderLocked(folder.Path("none"), [] { return absl::OkStatus(); }).code(), absl::StatusCode::kNotFound);
}

// Another process that has a folder locked, until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& folder) {
    int ready[2];
    PCHECK(pipe2(ready, O_CLOEXEC) == 0);
    process_ = fork();
    if (process_ == 0) {
      const int own = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (flock(own, LOCK_EX) == 0 && write(ready[1], "", 1) == 1) pause();
      _exit(1);
    }
    close(ready[1]);   // So that the read ends if the child does.
    char byte;
    PCHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
  }
  ~Holder() { End(); }
  void End() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

absl::Status NeverCalled() {
  ADD_FAILURE() << "the folder is another's";
  return absl::OkStatus();
}

TEST(FolderLock, OneThatAnotherProcessKeepsIsAnErrorThatNamesBoth) {
  const TemporaryFolder folder;
  Holder holder(folder.path());
  const TickingClock clock(400'000'000);
  const absl::Status status = WithFolderLocked(folder.path(), NeverCalled, {.clock = &clock});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), folder.path() + ": found its lock (flock) held by ")) << status;
  EXPECT_TRUE(absl::EndsWith(status.message(), " for 2 s, expected it free")) << status;
  if (access("/proc/locks", R_OK) == 0) {
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("held by process ", holder.process(), " ("))) << status;
  }
  holder.End();
  EXPECT_EQ(WithFolderLocked(folder.path(), [] { return absl::OkStatus(); }, {.clock = &clock}), absl::OkStatus());
}

TEST(FolderLock, OneThatBecomesFreeIsHad) {
  const TemporaryFolder folder;
  Holder holder(folder.path());
  const VirtualClock stands;
  std::atomic<pid_t> waiter = 0;
  std::atomic<bool> done = false;
  std::thread waiting([&] {
    waiter = gettid();
    EXPECT_EQ(WithFolderLocked(folder.path(), [] { return absl::OkStatus(); }, {.clock = &stands}), absl::OkStatus());
    done = true;
  });
  EXPECT_TRUE(Await([&] { return done || IsAsleep(waiter); }));
  EXPECT_FALSE(done);
  holder.End();
  waiting.join();
}

// A clock that stands still, and knows whether it was looked at.
class WatchedClock : public Clock {
 public:
  int64_t NowNanos() const override {
    looked_ = true;
    return 0;
  }
  bool looked() const { return looked_; }

 private:
  mutable std::atomic<bool> looked_{false};
};

TEST(FolderLock, AnInterruptEndsTheWaitAndOneFromBeforeDoesNot) {
  const TemporaryFolder folder;
  const Holder holder(folder.path());
  const WatchedClock stands;   // It is looked at once the wait has begun.
  std::atomic<bool> cancel = false;
  absl::Status status;
  std::thread waiting([&] { status = WithFolderLocked(folder.path(), NeverCalled, {.clock = &stands, .cancel = &cancel}); });
  EXPECT_TRUE(Await([&] { return stands.looked(); }));
  cancel = true;
  waiting.join();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "until the wait was interrupted")) << status;
  const TickingClock clock(400'000'000);
  const absl::Status later = WithFolderLocked(folder.path(), NeverCalled, {.clock = &clock, .cancel = &cancel});
  EXPECT_TRUE(absl::EndsWith(later.message(), " for 2 s, expected it free")) << later;
}

// Nobody looks for the lock in vain while others take turns.
TEST(FolderLock, ThreadsLockInTheOrderOfTheirArrival) {
  const TemporaryFolder folder;
  const VirtualClock stands;
  std::vector<int> order;
  std::vector<std::thread> threads;
  const auto come_one_after_another = [&] {
    for (int i = 0; i < 5; ++i) {
      std::atomic<pid_t> waiter = 0;
      threads.emplace_back([&, i] {
        waiter = gettid();
        const auto note = [&order, i] {
          order.push_back(i);
          return absl::OkStatus();
        };
        EXPECT_EQ(WithFolderLocked(folder.path(), note, {.clock = &stands}), absl::OkStatus());
      });
      int asleep = 0;   // Looks in a row: on its way to the folder it may wait for a moment, too.
      EXPECT_TRUE(Await([&] { return (asleep = IsAsleep(waiter) ? asleep + 1 : 0) == 20; }));
    }
    return absl::OkStatus();
  };
  EXPECT_EQ(WithFolderLocked(folder.path(), come_one_after_another), absl::OkStatus());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace tessera
