#include "tessera/apps/cli/screen/request_progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

using End = RequestProgress::End;
constexpr int64_t kSecond = 1'000'000'000;

// The progress, on a clock that stands still but for what a test adds. Its thread may draw at any time: a test changes the clock last, and
// then draws, so that what is drawn is the same whoever draws it.
struct Recorded {
  explicit Recorded(int64_t total, bool terminal = false, bool shows = true, const Engine* engine = nullptr)
      : progress(total, {.shows = shows,
                         .line = {.clock = &clock,
                                  .write = [this](absl::string_view text) { writes.emplace_back(text); },
                                  .terminal = terminal ? Progress::Options::kYes : Progress::Options::kNo},
                         .engine = engine}) {}

  void Pass(double seconds) {
    clock.Advance(static_cast<int64_t>(seconds * kSecond));
    progress.Draw();
  }

  VirtualClock clock;
  std::vector<std::string> writes;
  RequestProgress progress;
};

TEST(RequestProgress, HeaderExample) {
  Recorded recorded(40);
  RequestProgress& progress = recorded.progress;
  progress.SetUnderWay(1);
  for (int i = 0; i < 12; ++i) {
    progress.Wrote(/*tokens=*/38);
    progress.Count(RequestProgress::End::kAnswered);
  }
  recorded.Pass(12);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"requests: 30 % (12 of 40), 1.0/s, 28 s left; 38.0 tokens/s\n"});
  progress.SetUnderWay(0);
  EXPECT_EQ(progress.Summary(), "requests: 12 answered; 456 tokens, 38.0 tokens/s, 12.0 s\n");
}

TEST(RequestProgress, WithoutATerminalALineComesEveryFiveSeconds) {
  Recorded recorded(4);
  recorded.progress.SetUnderWay(1);
  for (int second = 1; second <= 12; ++second) {
    if (second == 6) recorded.progress.Count(End::kAnswered);
    recorded.Pass(1);
  }
  EXPECT_EQ(recorded.writes, (std::vector<std::string>{"requests: 0 % (0 of 4), 0.0/s, 5 s; 0.0 tokens/s\n",
                                                       "requests: 25 % (1 of 4), 0.1/s, 30 s left; 0.0 tokens/s\n"}));
}

TEST(RequestProgress, ATerminalHasOneLineThatTheSummaryReplaces) {
  Recorded recorded(2, /*terminal=*/true);
  recorded.progress.SetUnderWay(1);
  recorded.progress.Wrote(10);
  recorded.Pass(1);
  EXPECT_EQ(recorded.progress.Summary(), "requests: 0 answered, 1 not ended; 10 tokens, 10.0 tokens/s, 1.00 s\n");
  recorded.Pass(1);
  EXPECT_EQ(recorded.writes,
            (std::vector<std::string>{"\r\x1b[?7lrequests: 0 % (0 of 2), 0.0/s, 1 s; 10.0 tokens/s\x1b[K\x1b[?7h", "\r\x1b[K"}));
}

TEST(RequestProgress, AProgramThatWaitsForRequestsSaysNothingAndTheTimeIsNotCounted) {
  Recorded recorded(0);
  recorded.Pass(100);
  recorded.progress.SetUnderWay(1);
  recorded.progress.Wrote(20);
  recorded.progress.Count(End::kAnswered);
  recorded.progress.SetUnderWay(2);
  recorded.clock.Advance(2 * kSecond);
  recorded.progress.SetUnderWay(0);
  recorded.Pass(100);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{});
  EXPECT_EQ(recorded.progress.Summary(), "requests: 1 answered; 20 tokens, 10.0 tokens/s, 2.00 s\n");
}

TEST(RequestProgress, RequestsThatWereAnsweredBeforeAreDoneAndTakeNoTime) {
  Recorded recorded(100);
  recorded.progress.SetUnderWay(1);
  for (int i = 0; i < 80; ++i) recorded.progress.Count(End::kThere);
  for (int i = 0; i < 9; ++i) recorded.progress.Count(End::kAnswered);
  recorded.progress.Count(End::kFailed);
  recorded.Pass(5);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"requests: 90 % (90 of 100), 2.0/s, 5 s left; 0.0 tokens/s\n"});
  recorded.progress.Count(End::kUnended);
  recorded.progress.SetUnderWay(0);
  EXPECT_EQ(recorded.progress.Summary(),
            "requests: 9 answered, 80 answered before, 1 error, 1 not ended; 0 tokens, 0.0 tokens/s, 5.00 s\n");
}

TEST(RequestProgress, TheTimeOfReadingARequestThatWasAnsweredBeforeIsNotCounted) {
  Recorded recorded(4);
  for (int i = 0; i < 2; ++i) {
    recorded.progress.SetUnderWay(1);
    recorded.clock.Advance(kSecond);
    recorded.progress.DropUnderWay();
    recorded.progress.SetUnderWay(0);
  }
  recorded.progress.SetUnderWay(1);
  recorded.progress.Wrote(20);
  recorded.progress.Count(End::kAnswered);
  recorded.Pass(5);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{"requests: 75 % (3 of 4), 0.2/s, 5 s left; 4.0 tokens/s\n"});
  recorded.progress.SetUnderWay(0);
  EXPECT_EQ(recorded.progress.Summary(), "requests: 1 answered, 2 answered before; 20 tokens, 4.0 tokens/s, 5.00 s\n");
}

TEST(RequestProgress, AMessageReplacesTheLine) {
  Recorded recorded(2, /*terminal=*/true);
  recorded.progress.SetUnderWay(1);
  recorded.Pass(1);
  recorded.progress.Say("standard input, line 3: id: found nothing\n");
  ASSERT_EQ(recorded.writes.size(), 3u);
  EXPECT_EQ(recorded.writes[1], "\r\x1b[K");
  EXPECT_EQ(recorded.writes[2], "standard input, line 3: id: found nothing\n");
}

TEST(RequestProgress, OnlyTheSummaryWhereNothingIsToBeShown) {
  Recorded recorded(2, /*terminal=*/true, /*shows=*/false);
  recorded.progress.SetUnderWay(1);
  recorded.Pass(10);
  EXPECT_EQ(recorded.writes, std::vector<std::string>{});
  EXPECT_EQ(recorded.progress.Summary(), "requests: 0 answered, 1 not ended; 0 tokens, 0.0 tokens/s, 10.0 s\n");
}

TEST(RequestProgress, ARunWithoutRequestsTakesNoTime) {
  Recorded recorded(0);
  EXPECT_EQ(recorded.progress.Summary(), "requests: 0 answered; 0 tokens, 0.00 s\n");
}

TEST(RequestProgress, OfAStreamedModelTheLineSaysHowReadingGoes) {
  const PackedModel packed(TinyPath("gemma3"));
  const std::unique_ptr<Engine> engine = *Engine::Load(
      {.model_path = packed.path(), .compute = {.threads = 1}, .streaming = {.memory_budget = 1 << 30, .pin = PinPolicy::kNone}});
  Recorded recorded(2, /*terminal=*/false, /*shows=*/true, engine.get());
  recorded.progress.SetUnderWay(1);
  recorded.Pass(5);
  ASSERT_EQ(recorded.writes.size(), 1u);
  EXPECT_TRUE(absl::StrContains(recorded.writes[0], "; 0.0 tokens/s; pass ")) << recorded.writes[0];
  EXPECT_TRUE(absl::StrContains(recorded.writes[0], " GB/s\n")) << recorded.writes[0];
}

std::string Requests(int count) {
  std::string lines;
  for (int id = 0; id < count; ++id) absl::StrAppend(&lines, "{\"id\": ", id, ", \"text\": \"the\", \"n\": 3}\n");
  return lines;
}

TEST(RequestProgress, EachWayOfARunEndsWithASummaryOnStandardError) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--parallel=2"}, {"--beam=2x2", "--temperature=1"}}) {
    std::vector<std::string> all = {"--model=" + TinyPath("llama"), "--threads=1", "--jsonl", "--n_predict=3"};
    if (flags.empty() || flags[0] != "--beam=2x2") all.push_back("--temperature=0");
    all.insert(all.end(), flags.begin(), flags.end());
    const Ended ended = RunProgram("tessera_generate", all, Requests(3) + "no request\n");
    EXPECT_EQ(ended.code, 1) << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, "requests: 3 answered, 1 error; ")) << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, " tokens/s, ")) << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, " s, seed 0\n")) << ended.errors;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 4) << ended.output;
    EXPECT_FALSE(absl::StrContains(ended.output, "requests: ")) << ended.output;
  }
}

}  // namespace
}  // namespace tessera
