// Where the time of a generated token goes that is not spent in the device's graphs, and what a timeline costs.
//
//   ASSIGN_OR_RETURN(Overhead overhead, MeasureOverhead(options, {.generate_tokens = 128}, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(OverheadText(overhead)));
//
// One engine generates one text over and over; every other token is recorded in a timeline, so that both kinds see the same machine,
// the same memory and equally long caches. Errors are those of loading and running. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/common/benchmark.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct Overhead {                  // Medians over tokens, in microseconds.
  double pass = 0;                 // With a timeline: Session::Append,
  double graphs = 0;               // of that inside Device::Run,
  double leases = 0;               // and leasing weights.
  double choose = 0;               // The sampler, which comes after.
  double total = 0;                // Pass and choice.
  double total_without_timeline = 0;

  double OutsideShare() const { return (total - graphs) / total; }               // Of a token's time, outside Device::Run.
  double TimelineShare() const { return total / total_without_timeline - 1; }    // What the timeline adds; below 0: noise.
};

absl::StatusOr<Overhead> MeasureOverhead(EngineOptions options, const BenchmarkOptions& benchmark, int repetitions);

std::string OverheadText(const Overhead& overhead);
void WriteOverhead(JsonWriter& json, const Overhead& overhead);

}  // namespace tessera
