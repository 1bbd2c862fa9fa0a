// Table 7 of the one-for-all paper by real runs: tokens per pass by task and branch configuration, and the best configuration of each task.
// Converts tokens per pass to tokens per second on modeled phones.
//
//   for (const Ds2dBest& best : BestOfTasks(report.runs)) Print(best.task, best.configuration, report.ds2d_3b.Rate(best.tokens_per_pass));
//   for (const ReportTable& table : RunsTables(report)) Print(ReportTableText(table));
//
// Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

inline constexpr double kWantedDs2dGain = 1.6;   // The goal for a task's best configuration on the modeled 3B, over plain decoding.

// The configuration that gave a task the most tokens per pass; "auto" is not a candidate.
struct Ds2dBest {
  std::string of = {};              // Ds2dRun::of.
  std::string task = {};
  std::string configuration = {};
  double tokens_per_pass = 0;
};

// Returns, for each model with its forecasts, an entry for each task that some run with a configuration has, in the order of the runs.
std::vector<Ds2dBest> BestOfTasks(absl::Span<const Ds2dRun> runs);

// Returns for each model with its forecasts: configurations by tasks. Then, unless all runs used "auto": the best of each task next to
// plain decoding, with the number of tasks that reach kWantedDs2dGain.
std::vector<ReportTable> RunsTables(const OnemodelReport& report);

}  // namespace tessera
