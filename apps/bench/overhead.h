// Where the time of a generated token goes that is not spent computing in the device's graphs, and what a timeline costs.
//
//   ASSIGN_OR_RETURN(Overhead overhead, MeasureOverhead(options, {.generate_tokens = 128}, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(OverheadText(overhead)));
//
// One engine generates one text over and over. Of three tokens one is recorded in a timeline, one has its threads' working time
// counted, one is left alone: all kinds see the same machine, the same memory and equally long caches. Tokens during which
// something else got the CPU of a thread are left out, unless that is so for all. Waiting is all time inside ThreadPool::Run that a
// thread does not work (ThreadPool::Times): to be woken, at barriers and for the last, also because another has more to do. It is
// the mean of all threads. Errors are those of loading and running. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/benchmark.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct Overhead {                  // Medians over tokens, in microseconds.
  double pass = 0;                 // With a timeline: Session::Append,
  double graphs = 0;               // of that inside Device::Run,
  double leases = 0;               // and leasing weights.
  double choose = 0;               // The sampler, which comes after.
  double total = 0;                // Pass and choice.
  double total_without_timeline = 0;
  double total_counted = 0;        // With working time counted,
  double waiting = 0;              // of that waiting for other threads,
  double working = 0;              // and computing.
  int tokens = 0;                  // Of all kinds that the medians are of.

  double OutsideShare() const { return (total - graphs) / total; }               // Of a token's time, outside Device::Run,
  double NotWorkingShare() const { return 1 - working / total_counted; }         // and outside or waiting.
  double TimelineShare() const { return total / total_without_timeline - 1; }    // What the timeline adds; below 0: noise.
};
constexpr double kMostOutside = 0.02, kMostNotWorking = 0.06;   // What the shares should be at most.

constexpr int kOverheadTokens = 3;   // One of each kind.

// REQUIRES: benchmark.generate_tokens >= kOverheadTokens.
absl::StatusOr<Overhead> MeasureOverhead(EngineOptions options, const BenchmarkOptions& benchmark, int repetitions);

std::string OverheadText(const Overhead& overhead);
void WriteOverhead(JsonWriter& json, const Overhead& overhead);

}  // namespace tessera
