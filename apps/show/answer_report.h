// What a person is told about answers: one line, and more if asked (--stats).
//
//   WriteError(absl::StrCat(SummaryLine(answerer.timings(), FormatKnownByteSize(PeakMemoryBytes())), "\n"));
//   if (FLAGS_stats) WriteError(StatsText(answerer.timings()));
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/runtime/chat/timings.h"

namespace tessera {

// "prompt 36 tok 3449 tok/s | 264 tok 584 tok/s, 1.2 tok per pass | first 0.14 s | 120 MiB": at most 100 columns. The last is `peak`, the
// most memory that the process had. A rate is left out where no pass was timed, tokens per pass where nothing is drafted, the first text's
// time where there was none.
std::string SummaryLine(const Timings& timings, absl::string_view peak);

// "pruning: 40 of 120 rows went half-way, in 12 passes; 2 of these lost a token by it", a line; empty if no pass was stopped for that.
std::string PruningLine(const PruneReport& pruning);

// Lines about drafts, pruning and streaming, each if there is any. A line has a title, one subject, and about 100 columns at most:
//
//   drafts: 2.41 tokens per pass of 5.2 rows, 1.62 times as fast as plain passes (foreseen: 1.70)
//   drafts, prompt: learnt from 12 of 36 tokens
//   drafts, lookup: paused 3 times, for 44 of 127 passes (it cost 5 % of a pass more than it gave)
//
// Where no pass was without drafts, the first line names no speed: there is nothing of this run to compare with.
std::string StatsText(const Timings& timings);

// Answers that were told how to begin: a row for each, with its first token, how probable that was, tokens written, why it ended, and its
// text in one line. REQUIRES: each has `first`.
std::string BeginningsTable(absl::Span<const TimedAnswer> answers);

}  // namespace tessera
