// The results of tessera_bench spec, category by category, as a table, as JSON and as a chart.
//
//   CategoryResult result("code");
//   RETURN_IF_ERROR(result.AddPair(prompt, plain, drafted, probe.BarrierNanos()));
//   const std::vector<CategoryResult> results = {result};
//   RETURN_IF_ERROR(WriteOutput(SpecBenchText(results)));
//
// A gain is the time of plain decoding divided by the time with drafts, pair by pair: above 1 drafting is faster. Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/apps/bench/spec/spec_bench_run.h"
#include "tessera/base/json_writer.h"
#include "tessera/spec/speculation/replay.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

// Sums over all sequences of a category, for one mode of decoding (plain or with drafts).
struct TextTotals {
  int64_t tokens = 0, passes = 0, rows = 0;  // Not counting first tokens, which belong to the prompt pass.
  double decode_seconds = 0, total_seconds = 0;
  void Add(const TimedText& text);
  double TokensPerSecond() const { return decode_seconds > 0 ? static_cast<double>(tokens) / decode_seconds : 0; }
  double TokensPerPass() const { return passes > 0 ? static_cast<double>(tokens) / static_cast<double>(passes) : 0; }
  double RowsPerPass() const { return passes > 0 ? static_cast<double>(rows) / static_cast<double>(passes) : 0; }
};

struct CategoryResult {
  explicit CategoryResult(std::string category) : name(std::move(category)) {}

  std::string name;
  int texts = 0;
  int left_out = 0;   // Further sequences: counted in the speculator's report and nowhere else.
  int different = 0;  // Sequences that drafts changed. Any such sequence is a bug.
  TextTotals plain, drafted;
  std::vector<double> gains,
      total_gains;                    // From first to last token, and with the prompt; of sequences with two tokens or more. Sorted.
  std::vector<double> prompt_costs;   // Time of a prompt with drafters that learn from the prompt, divided by the plain time. Sorted.
  std::vector<double> barrier_nanos;  // Time of a thread barrier, around each sequence. Sorted.
  Replayed lookup_rule, suffix_rule;  // Published rules on the same sequences.
  SpeculationReport speculation;
  RowTimes row_times;  // After the last sequence.

  // Adds one prompt's pair of runs. barrier: the time of a thread barrier during the runs (MachineProbe), in nanoseconds.
  absl::Status AddPair(const std::vector<TokenId>& prompt, const TimedText& plain_text, const TimedText& drafted_text, double barrier);
};

std::string SpecBenchText(const std::vector<CategoryResult>& results);
// Writes the member "categories": [...].
void WriteSpecBench(JsonWriter& json, const std::vector<CategoryResult>& results);
std::string SpecBenchSvg(const std::vector<CategoryResult>& results, const std::string& title);

}  // namespace tessera
