#include "tessera/base/internal/lock_holder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(LockHolders, HeaderExample) {
  const TemporaryFolder folder;
  const int descriptor = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(OtherHolderOf(descriptor).value_or("another process"), "another process") << "nobody has it";
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int own = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (flock(own, LOCK_EX) == 0 && write(ready[1], "", 1) == 1) pause();
    _exit(1);
  }
  close(ready[1]);   // So that the read ends if the child does.
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const std::string holder = OtherHolderOf(descriptor).value_or("another process");
  if (access("/proc/locks", R_OK) == 0) EXPECT_TRUE(absl::StartsWith(holder, absl::StrCat("process ", child, " ("))) << holder;
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(flock(descriptor, LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(OtherHolderOf(descriptor).has_value()) << "this process has it";
  for (const int end : {ready[0], descriptor}) close(end);
}

}  // namespace
}  // namespace tessera
