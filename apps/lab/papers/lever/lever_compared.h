// Compares a report of Lever's shapes (lever_shapes.h) with the paper: errors, and the number of small errors.
//
//   const LeverComparison comparison = CompareLever(report);
//   for (const ComparedLeverRow& row : comparison.rows) Print(row.ours->row, row.published, row.errors);
//   Print(comparison.within, comparison.counted, comparison.missed);
//
// The error is ours over the paper's, less 1. A figure without a prediction is missed, and counts as the largest error of all. Table 1 is
// shown and not counted. Thread-safe (pure functions).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/apps/lab/papers/lever/lever_shapes.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

struct ComparedLeverRow {
  const LeverSeries* ours = nullptr;                // Points into the report.
  std::vector<double> published = {};               // By column.
  std::vector<std::optional<double>> errors = {};   // nullopt: missed.
  std::string source = {};
  bool counted = true;
};

struct LeverComparison {
  std::vector<ComparedLeverRow> rows = {};     // In the report's order. Valid as long as the report.
  int counted = 0, within = 0, missed = 0;     // within: within kNearEnough (compared_figure.h).
  std::optional<double> median_error = {};     // None: the median is a missed row's.
};

// REQUIRES: each series of the report is published, with as many columns.
LeverComparison CompareLever(const LeverReport& report);

// Returns title, rows and notes of all tables.
std::vector<ReportTable> LeverTables(const LeverReport& report);

}  // namespace tessera
