#include "tessera/base/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

struct Recorded {
  VirtualClock clock;
  std::vector<std::string> writes;

  Progress::Options Options(bool terminal) {
    return {.clock = &clock,
            .write = [this](absl::string_view text) { writes.emplace_back(text); },
            .terminal = terminal ? Progress::Options::kYes : Progress::Options::kNo};
  }
};

void Pack(int64_t) {}

TEST(Progress, HeaderExample) {
  const int64_t tensors = 3;
  testing::internal::CaptureStderr();
  {
    Progress progress("packing", tensors);
    for (int64_t done = 0; done < tensors; progress.Update(++done)) Pack(done);
    progress.Finish();
  }
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(written, "");  // Captured, so no terminal, and done within five seconds.
}

TEST(Progress, WithoutATerminalALineComesEveryFiveSeconds) {
  Recorded recorded;
  Progress progress("packing", 100, recorded.Options(/*terminal=*/false));
  for (int second = 1; second <= 12; ++second) {
    recorded.clock.Advance(kSecond);
    progress.Update(2 * second);
  }
  progress.Finish();
  EXPECT_EQ(recorded.writes, (std::vector<std::string>{"packing: 10 % (10 of 100), 2.0/s, 45 s left\n",
                                                       "packing: 20 % (20 of 100), 2.0/s, 40 s left\n",
                                                       "packing: 24 % (24 of 100), 2.0/s, 38 s left\n"}));
}

TEST(Progress, OnATerminalOneLineIsRedrawnTenTimesASecondAtMost) {
  Recorded recorded;
  {
    Progress progress("load", 1000, recorded.Options(/*terminal=*/true));
    for (int i = 1; i <= 1000; ++i) {
      recorded.clock.Advance(kSecond / 1000);
      progress.Update(i);
    }
  }  // The destructor finishes it.
  ASSERT_EQ(recorded.writes.size(), 12u);  // Ten redraws, the last word, the line break.
  EXPECT_EQ(recorded.writes[0], "\r\x1b[?7lload: 10 % (100 of 1000), 1000/s, 1 s left\x1b[K\x1b[?7h");
  EXPECT_EQ(recorded.writes[10], "\r\x1b[?7lload: 100 % (1000 of 1000), 1000/s, 1 s\x1b[K\x1b[?7h");
  EXPECT_EQ(recorded.writes[11], "\n");
}

TEST(Progress, NoJobWaitsForAReaderOfItsLines) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  while (write(ends[1], "xxxxxxxx", 8) > 0) {}
  fcntl(ends[1], F_SETFL, 0);   // From here on a write would wait.
  const int kept = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  VirtualClock clock;
  Progress progress("x", 5, {.clock = &clock, .terminal = Progress::Options::kNo});
  clock.Advance(5 * kSecond);
  progress.Update(1);
  std::string all(1 << 20, ' ');
  all.resize(static_cast<size_t>(read(ends[0], all.data(), all.size())));
  clock.Advance(5 * kSecond);
  progress.Update(2);
  dup2(kept, STDERR_FILENO);
  for (const int file : {kept, ends[1]}) close(file);
  EXPECT_EQ(all.find("x: 20 %"), std::string::npos);
  all.resize(1000);
  all.resize(static_cast<size_t>(read(ends[0], all.data(), all.size())));
  EXPECT_EQ(all, "x: 40 % (2 of 5), 0.2/s, 15 s left\n");
  close(ends[0]);
}

TEST(Progress, FinishIsSaidOnce) {
  Recorded recorded;
  Progress progress("x", 5, recorded.Options(/*terminal=*/true));
  progress.Finish();
  const size_t writes = recorded.writes.size();
  progress.Finish();
  recorded.clock.Advance(kSecond);
  progress.Update(3);
  EXPECT_EQ(recorded.writes.size(), writes);
}

TEST(Progress, AnErasedProgressLeavesNothingOnATerminalAndStaysSilent) {
  Recorded recorded;
  Progress progress("x", 5, recorded.Options(/*terminal=*/true));
  recorded.clock.Advance(kSecond);
  progress.Update(1);
  progress.Erase();
  progress.Update(2);
  progress.Finish();
  ASSERT_EQ(recorded.writes.size(), 2u);
  EXPECT_EQ(recorded.writes[1], "\r\x1b[K");
}

TEST(Progress, ADetailEndsTheLine) {
  Recorded recorded;
  Progress progress("x", 5, recorded.Options(/*terminal=*/false));
  recorded.clock.Advance(5 * kSecond);
  progress.Update(1, "3.4 GB/s");
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"x: 20 % (1 of 5), 0.2/s, 20 s left; 3.4 GB/s\n"});
}

TEST(Progress, AnUnknownTotalShowsNeitherPercentNorTimeLeft) {
  Recorded recorded;
  Progress progress("reading", 0, recorded.Options(/*terminal=*/false));
  recorded.clock.Advance(100 * kSecond);
  progress.Update(50);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"reading: 50, 0.5/s, 1:40 min\n"});
}

TEST(Progress, SkippedItemsAreDoneAndCountForNoRate) {
  Recorded recorded;
  Progress progress("x", 100, recorded.Options(/*terminal=*/false));
  progress.Skip(80);
  recorded.clock.Advance(5 * kSecond);
  progress.Update(90);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"x: 90 % (90 of 100), 2.0/s, 5 s left\n"});
}

TEST(Progress, TheTimeOfSkippedItemsCountsForNoRate) {
  Recorded recorded;
  Progress progress("x", 100, recorded.Options(/*terminal=*/false));
  recorded.clock.Advance(3 * kSecond);
  progress.Skip(80, 3 * kSecond);
  recorded.clock.Advance(5 * kSecond);
  progress.Update(90);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"x: 90 % (90 of 100), 2.0/s, 5 s left\n"});
}

TEST(Progress, APostponedLineComesAsIfOneHadBeenDrawn) {
  Recorded recorded;
  Progress progress("x", 10, recorded.Options(/*terminal=*/false));
  recorded.clock.Advance(100 * kSecond);
  progress.Postpone();
  recorded.clock.Advance(4 * kSecond);
  progress.Update(1);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{});
  recorded.clock.Advance(kSecond);
  progress.Update(2);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"x: 20 % (2 of 10), 0.0/s, 7:00 min left\n"});
}

TEST(Progress, LinesThatAreSaidTakeThePlaceOfTheDrawnOne) {
  Recorded recorded;
  Progress progress("x", 5, recorded.Options(/*terminal=*/true));
  progress.Say("before\n");
  recorded.clock.Advance(kSecond);
  progress.Update(1);
  progress.Say("between\n");
  recorded.clock.Advance(kSecond);
  progress.Update(2);
  progress.Erase();
  progress.Say("after\n");
  EXPECT_EQ(recorded.writes, (std::vector<std::string>{
                                 "before\n", "\r\x1b[?7lx: 20 % (1 of 5), 1.0/s, 4 s left\x1b[K\x1b[?7h", "\r\x1b[K", "between\n",
                                 "\r\x1b[?7lx: 40 % (2 of 5), 1.0/s, 3 s left\x1b[K\x1b[?7h", "\r\x1b[K", "after\n"}));
}

TEST(Progress, LongTimesAreShownInMinutesAndHours) {
  Recorded recorded;
  Progress progress("long", 7201, recorded.Options(/*terminal=*/false));
  recorded.clock.Advance(10 * kSecond);
  progress.Update(1);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"long: 0 % (1 of 7201), 0.1/s, 20:00 h left\n"});
}

}  // namespace
}  // namespace tessera
