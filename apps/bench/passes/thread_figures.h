// Measures gain and cost of threads: two threads compared with one, more threads than CPUs, engines side by side, an idle engine.
//
//   const BenchmarkOptions benchmark = {.prompt_tokens = 512, .generate_tokens = 128};
//   ASSIGN_OR_RETURN(const std::vector<ThreadFigure> figures, MeasureThreads(options, benchmark, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(ThreadFiguresText(figures)));
//
// Runs on kThreadFigureCpus of the CPUs that the process may use; options.compute.threads is ignored. Engines of one, one, two and three
// threads are loaded at the same time and take turns. Ratios are taken within a repetition. Errors are the errors of loading and running,
// and FailedPrecondition if there are fewer CPUs. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/spread.h"

namespace tessera {

constexpr int kThreadFigureCpus = 2;

struct ThreadFigure {
  std::string name;        // The figure's name, with the unit if there is one.
  Spread value;            // Over the repetitions. If measured once, all three numbers are the same.
  bool at_least = false;   // `limit` is a lower bound.
  double limit = 0;        // For the median.

  bool Met() const { return at_least ? value.median >= limit : value.median <= limit; }
};

// Measures all figures. The idle engines take `repetitions` seconds. REQUIRES: at least 1 prompt token and kOverheadTokens generated
// tokens.
absl::StatusOr<std::vector<ThreadFigure>> MeasureThreads(EngineOptions options, const BenchmarkOptions& benchmark,
                                                        int repetitions);

std::string ThreadFiguresText(const std::vector<ThreadFigure>& figures);
void WriteThreadFigures(JsonWriter& json, const std::vector<ThreadFigure>& figures);   // An array.

}  // namespace tessera
