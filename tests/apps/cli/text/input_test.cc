// Lines of standard input that are read as they come.
#include "tessera/apps/cli/text/input.h"

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

TEST(LineReader, PassesOverALineThatIsTooLongAndReadsTheNext) {
  for (const bool asks_before : {false, true}) {
    PipedInput input;
    LineReader lines;
    lines.LimitBytes(8);
    std::string line;
    const auto next = [&] {
      if (asks_before) EXPECT_TRUE(Must(lines.Ready()));
      return lines.Next(&line);
    };
    input.Write("12345678\n123456789\nshort\n" + std::string(40'000, 'x'));
    EXPECT_TRUE(Must(next()));
    EXPECT_EQ(line, "12345678") << "as long as a line may be";
    EXPECT_EQ(next().status(), absl::ResourceExhaustedError("standard input, line 2: found a line of 9 bytes, expected at most 8"));
    EXPECT_TRUE(Must(next()));
    EXPECT_EQ(line, "short");
    if (asks_before) EXPECT_FALSE(Must(lines.Ready())) << "the line has not ended";
    input.Write(std::string(20'000, 'x') + "\n\nlast, and too long");
    EXPECT_EQ(next().status(), absl::ResourceExhaustedError("standard input, line 4: found a line of 60000 bytes, expected at most 8"));
    EXPECT_TRUE(Must(next()));
    EXPECT_EQ(line, "");
    input.End();
    EXPECT_EQ(next().status(), absl::ResourceExhaustedError("standard input, line 6: found a line of 18 bytes, expected at most 8"));
    EXPECT_FALSE(Must(next()));
  }
}

}  // namespace
}  // namespace tessera
