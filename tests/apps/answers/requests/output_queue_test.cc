// What is written to standard output by whoever must not wait, and in turn.
#include "tessera/apps/answers/requests/output_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "tessera/apps/answers/requests/answers_in_turn.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

// Standard output is a pipe for as long as this lives.
class PipedOutput {
 public:
  PipedOutput() : before_(dup(STDOUT_FILENO)) {
    CHECK_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    dup2(pipe_[1], STDOUT_FILENO);
    close(pipe_[1]);
  }
  ~PipedOutput() { End(); }
  // What was written in all; it is as before from here on.
  std::string End() {
    if (before_ < 0) return "";
    dup2(before_, STDOUT_FILENO);   // The pipe's only writer is gone.
    close(before_);
    before_ = -1;
    const std::string text = Read(size_t{1} << 30);
    close(pipe_[0]);
    return text;
  }
  std::string Read(size_t most) {
    std::string text;
    char bytes[4096];
    while (text.size() < most) {
      const ssize_t count = read(pipe_[0], bytes, std::min(sizeof(bytes), most - text.size()));
      if (count <= 0) break;
      text.append(bytes, count);
    }
    return text;
  }

 private:
  int before_;
  int pipe_[2];
};

TEST(OutputQueue, HeaderExample) {
  PipedOutput piped;
  const std::string answer = "an answer";
  const auto run = [&]() -> absl::Status {
    OutputQueue output;
    output.Push(answer + "\n");
    RETURN_IF_ERROR(output.status());
    RETURN_IF_ERROR(output.Flush());
    return absl::OkStatus();
  };
  const absl::Status status = run();
  EXPECT_EQ(piped.End(), "an answer\n");
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(OutputQueue, HoldsNoMoreThanItsBoundAndLosesNothing) {
  constexpr int kTexts = 40;
  const std::string text(100'000, 'x');
  PipedOutput piped;
  std::atomic<int> pushed{0};
  std::string seen;
  {
    OutputQueue output;
    std::thread pushing([&] {
      for (; pushed < kTexts; ++pushed) output.Push(text);
    });
    EXPECT_TRUE(Await([&] { return pushed > 1 && OthersAreAsleep(); }));   // One waits for the reader, the other for the queue.
    const int before = pushed;
    EXPECT_LE(before, static_cast<int>(OutputQueue::kMostBytes / text.size()) + 1);
    seen = piped.Read(kTexts * text.size());
    pushing.join();
    Must(output.Flush());
  }
  EXPECT_EQ(seen.size() + piped.End().size(), kTexts * text.size());
}

TEST(OutputQueue, ATextLongerThanItsBoundIsWrittenAlone) {
  const std::string text(3 * OutputQueue::kMostBytes, 'x');
  PipedOutput piped;
  std::string seen;
  {
    OutputQueue output;
    output.Push(text);
    std::thread pushing([&] { output.Push("!"); });
    seen = piped.Read(text.size() + 1);
    pushing.join();
    Must(output.Flush());
  }
  piped.End();
  EXPECT_EQ(seen, text + "!");
}

TEST(OutputQueue, AnErrorIsKeptAndNothingWaitsForEver) {
  const int before = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  dup2(full, STDOUT_FILENO);
  absl::Status flushed, status;
  {
    OutputQueue output;
    for (int i = 0; i < 5; ++i) output.Push(std::string(OutputQueue::kMostBytes, 'x'));
    flushed = output.Flush();
    status = output.status();
  }
  dup2(before, STDOUT_FILENO);
  close(before);
  close(full);
  EXPECT_EQ(flushed.code(), absl::StatusCode::kUnavailable) << flushed;
  EXPECT_EQ(status, flushed);
}

TEST(AnswersInTurn, HeaderExample) {
  PipedOutput piped;
  AnswersInTurn shown(3);
  shown.Add(0, "Paris");
  EXPECT_EQ(piped.Read(20), "Answer 1 of 3:\nParis");
  shown.Add(1, "It is");
  shown.End(0);
  EXPECT_EQ(piped.Read(22), "\n\nAnswer 2 of 3:\nIt is");
  EXPECT_EQ(shown.status(), absl::OkStatus());
  shown.End(2);
  shown.Add(1, "!");
  shown.End(1);
  EXPECT_EQ(piped.End(), "!\n\nAnswer 3 of 3:\n\n");
}

}  // namespace
}  // namespace tessera
