// Lines of standard input that are read as they come.
#include "tessera/apps/cli/input.h"

#include <gtest/gtest.h>

#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <glog/logging.h>

#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

// Standard input is a pipe for as long as this lives.
class PipedInput {
 public:
  PipedInput() : before_(dup(STDIN_FILENO)) {
    CHECK_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    dup2(pipe_[0], STDIN_FILENO);
    close(pipe_[0]);
  }
  ~PipedInput() {
    End();
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  void Write(const std::string& text) { CHECK_EQ(write(pipe_[1], text.data(), text.size()), static_cast<ssize_t>(text.size())); }
  void End() {
    if (pipe_[1] >= 0) close(pipe_[1]);
    pipe_[1] = -1;
  }

 private:
  const int before_;
  int pipe_[2];
};

TEST(LineReader, IsReadyOnceNextNeedNotWait) {
  PipedInput input;
  LineReader lines;
  std::string line;
  EXPECT_FALSE(Must(lines.Ready()));
  input.Write("on");
  EXPECT_FALSE(Must(lines.Ready())) << "a part of a line";
  EXPECT_FALSE(Must(lines.Ready()));
  input.Write("e\n\ntw");
  EXPECT_TRUE(Must(lines.Ready()));
  EXPECT_TRUE(Must(lines.Next(&line)));
  EXPECT_EQ(line, "one");
  EXPECT_TRUE(Must(lines.Ready()));
  EXPECT_TRUE(Must(lines.Next(&line)));
  EXPECT_EQ(line, "");
  EXPECT_FALSE(Must(lines.Ready()));
  input.Write("o\r\nthree\nfo");
  EXPECT_TRUE(Must(lines.Next(&line)));
  EXPECT_EQ(line, "two");
  EXPECT_TRUE(Must(lines.Next(&line))) << "without being asked before";
  EXPECT_EQ(line, "three");
  input.Write("ur");
  EXPECT_FALSE(Must(lines.Ready()));
  input.End();
  EXPECT_TRUE(Must(lines.Ready()));
  EXPECT_TRUE(Must(lines.Next(&line)));
  EXPECT_EQ(line, "four");
  EXPECT_TRUE(Must(lines.Ready())) << "the end";
  EXPECT_FALSE(Must(lines.Next(&line)));
}

}  // namespace
}  // namespace tessera
