#include "tessera/apps/show/answer_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tessera/base/byte_size.h"

namespace tessera {
namespace {

Timings Usual() {
  Timings timings = {.prompt_tokens = 36, .prompt_seconds = 36 / 3449.0, .output_tokens = 265};
  timings.timed_tokens = 264;
  timings.generation_seconds = 264 / 584.0;
  timings.first_token_seconds = 0.14;
  timings.speculation.emplace();
  timings.speculation->sources.emplace_back();
  timings.speculation->steps = 100;
  timings.speculation->tokens = 120;
  return timings;
}

TEST(SummaryLine, HeaderExample) {
  EXPECT_EQ(SummaryLine(Usual(), "120 MiB"),
            "prompt 36 tok 3449 tok/s | 265 tok 584 tok/s, 1.2 tok per pass | first 0.14 s | 120 MiB");
}

TEST(SummaryLine, LeavesOutWhatThereIsNot) {
  EXPECT_EQ(SummaryLine({.prompt_tokens = 5, .prompt_seconds = 10}, "1023 B"), "prompt 5 tok 0.50 tok/s | 0 tok | 1023 B");
}

// The pass over the prompt gives the first token, so nothing was timed that could be a rate.
TEST(SummaryLine, OneTokenHasNoRate) {
  EXPECT_EQ(SummaryLine({.output_tokens = 1, .generation_seconds = 1e-4}, "not known"), "prompt 0 tok | 1 tok | not known");
}

TEST(SummaryLine, HasAtMostAHundredColumns) {
  for (const int64_t tokens : {int64_t{9999}, int64_t{99'949}, int64_t{999'499}, int64_t{1} << 31, std::numeric_limits<int64_t>::max()}) {
    for (const double seconds : {1.0, 7.3, 1e4, 9'999'999.0}) {
      for (const int64_t peak : {int64_t{1023} << 10, int64_t{1023} << 20, int64_t{1023} << 30, int64_t{1023} << 40}) {
        Timings timings = Usual();
        timings.prompt_tokens = timings.output_tokens = timings.timed_tokens = tokens;
        timings.prompt_seconds = timings.generation_seconds = timings.first_token_seconds = seconds;
        timings.speculation->tokens = 6399;
        const std::string line = SummaryLine(timings, FormatByteSize(peak));
        EXPECT_LE(line.size(), 100u) << line;
      }
    }
  }
}

TEST(StatsText, SaysWhatWasPruned) {
  EXPECT_EQ(PruningLine({}), "");
  const std::string line = "pruning: 40 of 120 rows went half-way, in 12 passes; 2 of these lost a token by it\n";
  const PruneReport pruned = {.passes = 12, .rows = 120, .dropped = 40, .lost = 2};
  EXPECT_EQ(PruningLine(pruned), line);
  EXPECT_EQ(StatsText({.pruning = pruned}), line);
}

TEST(StatsText, SaysWhatDraftsGave) {
  EXPECT_EQ(StatsText({}), "");
  const std::string text = StatsText(Usual());
  EXPECT_EQ(text.find("drafts: 1.20 tokens per pass of 0.0 rows, "), 0u) << text;
}

TEST(BeginningsTable, HasALineForEachAnswer) {
  const TimedAnswer paris = {.text = {.tokens = {5, 6, 7}, .text = " Paris,\nof course", .reason = FinishReason::kEndToken},
                             .first = FirstToken{.token = 5, .probability = 0.4125, .text = " Paris"}};
  const TimedAnswer broken = {.text = {.tokens = {8}, .text = "\xe2\x1b", .reason = FinishReason::kLength},
                              .first = FirstToken{.token = 8, .probability = 0.00004, .text = "\xe2"}};
  EXPECT_EQ(BeginningsTable({paris, broken}),
            "first token  probability  tokens  finish       text\n"
            "-----------  -----------  ------  -----------  ------------------\n"
            "\" Paris\"         41.25 %       3  end of text   Paris,\\nof course\n"
            "\"\\xe2\"            0.00 %       1  length       \\xe2\\x1b\n");
}

}  // namespace
}  // namespace tessera
