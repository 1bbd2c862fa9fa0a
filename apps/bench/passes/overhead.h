// The time of a generated token outside computation in the device's graphs, and the cost of a timeline.
//
//   ASSIGN_OR_RETURN(Overhead overhead, MeasureOverhead(options, {.generate_tokens = 128}, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(OverheadText(overhead)));
//
// One engine generates one sequence over and over. Out of three tokens, one is recorded in a timeline, one has the threads' working time
// counted, and one is only timed. So all kinds meet the same machine, the same memory and equally long caches. A token is left out if
// another program got the CPU of a thread meanwhile, unless all tokens were disturbed.
//
// Waiting is all time inside ThreadPool::Run in which a thread does not work (ThreadPool::Times). A thread waits until woken, at barriers,
// and until the last thread is done. An uneven division of the work counts as waiting, too. The figure is the mean of all threads. Errors
// are the errors of loading and running. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct Overhead {                  // Medians over tokens, in microseconds.
  double pass = 0;                 // With a timeline: Session::Append.
  double graphs = 0;               // The part of `pass` inside Device::Run,
  double leases = 0;               // and the part that leases weights.
  double choose = 0;               // The sampler, after the pass.
  double total = 0;                // Pass and choice.
  double total_without_timeline = 0;
  double total_counted = 0;        // With working time counted.
  double waiting = 0;              // The part of total_counted in which threads wait for each other,
  double working = 0;              // and the part in which they compute.
  int tokens = 0;                  // Tokens of all kinds behind the medians.

  double OutsideShare() const { return (total - graphs) / total; }               // The share of a token's time outside Device::Run,
  double NotWorkingShare() const { return 1 - working / total_counted; }         // and the share spent outside Device::Run or waiting.
  double TimelineShare() const { return total / total_without_timeline - 1; }    // The share that the timeline adds; below 0: noise.
};
constexpr double kMostOutside = 0.02, kMostNotWorking = 0.06;   // Targets: upper bounds of the shares.

constexpr int kOverheadTokens = 3;   // One of each kind.

// Measures the overhead of generated tokens. REQUIRES: benchmark.generate_tokens >= kOverheadTokens.
absl::StatusOr<Overhead> MeasureOverhead(EngineOptions options, const BenchmarkOptions& benchmark, int repetitions);

std::string OverheadText(const Overhead& overhead);
void WriteOverhead(JsonWriter& json, const Overhead& overhead);

}  // namespace tessera
