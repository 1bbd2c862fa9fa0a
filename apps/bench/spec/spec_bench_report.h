// The results of tessera_bench spec, category by category, as a table, as JSON and as a picture.
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

// Sums over all texts of a category, for one way of writing them.
struct TextTotals {
  int64_t tokens = 0, passes = 0, rows = 0;  // Not counting first tokens, which are the prompts'.
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
  int left_out = 0;   // Further texts: in the speculator's report, but in nothing else.
  int different = 0;  // Texts that drafts changed. Any is a bug.
  TextTotals plain, drafted;
  std::vector<double> gains,
      total_gains;                    // From first to last token, and with the prompt; of texts with two tokens or more. Sorted.
  std::vector<double> prompt_costs;   // Time of a prompt with drafters that learn from it, divided by its plain time. Sorted.
  std::vector<double> barrier_nanos;  // Time of a thread barrier, around each text. Sorted.
  Replayed lookup_rule, suffix_rule;  // Published rules on the same texts.
  SpeculationReport speculation;
  RowTimes row_times;  // After the last text.

  // barrier: the time of a thread barrier meanwhile (MachineProbe), in nanoseconds.
  absl::Status AddPair(const std::vector<TokenId>& prompt, const TimedText& plain_text, const TimedText& drafted_text, double barrier);
};

std::string SpecBenchText(const std::vector<CategoryResult>& results);
// "categories": [...].
void WriteSpecBench(JsonWriter& json, const std::vector<CategoryResult>& results);
std::string SpecBenchSvg(const std::vector<CategoryResult>& results, const std::string& title);

}  // namespace tessera
