#include "tessera/base/write_all.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(WriteAll, HeaderExample) {
  if (const int error = WriteAll(STDERR_FILENO, "ready\n"); error != 0) std::abort();
}

TEST(WriteAll, WaitsForAPipeThatDoesNotBlockItsWriter) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const std::string text(1'000'000, 'x');
  std::string read_back;
  std::thread reader([&] {
    char bytes[4096];
    while (read_back.size() < text.size()) {
      const ssize_t count = read(ends[0], bytes, sizeof(bytes));
      if (count > 0) read_back.append(bytes, count);
    }
  });
  EXPECT_EQ(WriteAll(ends[1], text), 0);
  reader.join();
  EXPECT_EQ(read_back, text);
  close(ends[0]);
  close(ends[1]);
}

TEST(WriteAll, ReturnsTheErrorThatStoppedTheWrite) {
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(WriteAll(full, "x"), ENOSPC);
  EXPECT_EQ(WriteAll(full, ""), 0);
  close(full);
  EXPECT_EQ(WriteAll(-1, "x"), EBADF);
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(WriteAll(ends[1], "x"), EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace tessera
