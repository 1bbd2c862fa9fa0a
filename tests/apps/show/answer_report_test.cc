#include "tessera/apps/show/answer_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

TEST(SummaryLine, LeavesOutAbsentFigures) {
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

TEST(StatsText, ReportsThePrunedRows) {
  EXPECT_EQ(PruningLine({}), "");
  const std::string line = "pruning: 40 of 120 rows went half-way, in 12 passes; 2 of these lost a token by it\n";
  const PruneReport pruned = {.passes = 12, .rows = 120, .dropped = 40, .lost = 2};
  EXPECT_EQ(PruningLine(pruned), line);
  EXPECT_EQ(StatsText({.pruning = pruned}), line);
}

TEST(StatsText, ReportsTheGainOfDrafts) {
  EXPECT_EQ(StatsText({}), "");
  Timings timings = Usual();
  EXPECT_EQ(StatsText(timings), "drafts: 1.20 tokens per pass of 0.0 rows, no plain pass to compare with\n");
  timings.speculation->rows = 520;
  timings.speculation->plain_seconds = 1.62;
  timings.speculation->compared_seconds = 1;
  timings.speculation->predicted_plain_seconds = 1.7;
  timings.speculation->predicted_seconds = 1;
  EXPECT_EQ(StatsText(timings), "drafts: 1.20 tokens per pass of 5.2 rows, 1.62 times as fast as plain passes (foreseen: 1.70)\n");
}

// All that may be said, with long numbers: each subject has a line with a title.
TEST(StatsText, LinesHaveTitlesAndAboutAHundredColumns) {
  Timings timings = Usual();
  SpeculationReport& report = *timings.speculation;
  report = {.steps = 12'345, .tokens = 34'567, .rows = 99'999, .rested_steps = 1234, .prompt_tokens = 23'456, .prompt_learnt = 12'345};
  report.sources = {{.name = "recycling", .choice = "3,2", .pauses = 12, .paused_steps = 10'234, .loss = 0.25},
                    {.name = "suffix", .pauses = 1, .paused_steps = 44, .loss = 0.05}};
  timings.pruning = {.passes = 12, .rows = 120, .dropped = 40, .lost = 2};
  StreamingFigures figures = {.flash_bytes_per_second = 4e9, .passes = 12'345, .seconds = 100};
  figures.stats = {.bytes_read = 1'000'000'000'000, .read_nanos = 300'000'000'000, .pinned_bytes = 28, .streamed_bytes = 72};
  figures.stats.pass_bytes = 72;
  timings.streaming = figures;
  const std::string text = StatsText(timings);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 9u) << text;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 108u) << line;
    EXPECT_LT(line.find(": "), 20u) << line;
  }
  for (const char* begin : {"drafts: ", "drafts, prompt: learnt from 12345 of 23456 tokens\n", "drafts, recycling: 3,2\n",
                            "drafts, recycling: paused 12 times, ", "drafts, suffix: paused 1 time, ", "drafts, all: rested for 1234 of ",
                            "pruning: ", "streaming: 28 % of the weights pinned, ", "streaming, pass: computes "}) {
    EXPECT_NE(absl::StrCat("\n", text).find(absl::StrCat("\n", begin)), std::string::npos) << begin << " in\n" << text;
  }
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
