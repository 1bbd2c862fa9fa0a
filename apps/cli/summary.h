// What a program says of answers when they are written: a line for everybody, and --stats for those who tune.
//
//   WriteError(SummaryLine(answerer.timings(), PeakMemoryBytes()));
//   // prompt 36 tok 3449 tok/s | 264 tok 584 tok/s, 1.2 tok per pass | first 0.14 s | 120 MiB
//   if (FLAGS_stats) WriteError(StatsText(answerer.timings()));
//
// Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>

#include <gflags/gflags_declare.h>

#include "tessera/runtime/chat/timings.h"

DECLARE_bool(stats);

namespace tessera {

constexpr size_t kSummaryColumns = 100;

// Prompt and answer, their speeds, how long the first text took, the most memory; of a streamed model, how much of it is pinned. A line
// with its line break, at most kSummaryColumns wide: what does not fit is left out, --stats has it.
std::string SummaryLine(const Timings& timings, int64_t peak_memory);

// Lines about prompt, answer, drafts and streaming.
std::string StatsText(const Timings& timings);

// "2.41 tokens per pass of 5.2 rows, 1.62 times as fast as plain passes (foreseen: 1.70); learnt from 31 of 400 prompt tokens; lookup:
// paused ...", or "nothing drafted".
std::string SpeculationLine(const SpeculationReport& report);

}  // namespace tessera
