// Reports about answers for a person: one line, and more with --stats.
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

// Returns "prompt 36 tok 3449 tok/s | 264 tok 584 tok/s, 1.2 tok per pass | first 0.14 s | 120 MiB": at most 100 columns. The last part is
// `peak`, the most memory that the process had. A rate is left out where no pass was timed, tokens per pass where nothing is drafted, and
// the time to the first text where there was no text.
std::string SummaryLine(const Timings& timings, absl::string_view peak);

// Returns a line, "pruning: 40 of 120 rows went half-way, in 12 passes; 2 of these lost a token by it"; empty if no pass was stopped to
// prune rows.
std::string PruningLine(const PruneReport& pruning);

// Returns lines about drafts, pruning and streaming, each only where used. A line has a title, one subject, and about 100 columns at most:
//
//   drafts: 2.41 tokens per pass of 5.2 rows, 1.62 times as fast as plain passes (foreseen: 1.70)
//   drafts, prompt: learnt from 12 of 36 tokens
//   drafts, lookup: paused 3 times, for 44 of 127 passes (it cost 5 % of a pass more than it gave)
//
// If all passes had drafts, the first line names no gain: the run has no plain pass to compare with.
std::string StatsText(const Timings& timings);

// Returns a table of answers with given first tokens. Each row has the first token, the token's probability, the number of tokens written,
// the finish reason, and the text in one line. REQUIRES: each has `first`.
std::string BeginningsTable(absl::Span<const TimedAnswer> answers);

}  // namespace tessera
