// Selects the tables of a report to print: first a summary and the names of all tables, then any table by name.
//
//   ASSIGN_OR_RETURN(const std::string text, ShownTables(tables, FLAGS_table));
//
// Lines have at most 120 columns, as far as words and numbers allow. Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

// Names of the tables that make up a summary: errors of all figures, and how often each order of a paper holds.
inline constexpr char kSummaryTable[] = "summary", kOrdersTable[] = "orders";

// name: empty: the summary, then a line for each table; "all": all tables; else the tables with this name. WrongUsage (table, known names)
// for another name. REQUIRES: each table has a name.
absl::StatusOr<std::string> ShownTables(const std::vector<ReportTable>& tables, absl::string_view name);

// Returns a table named "recordings", with a row for each recording.
ReportTable RecordingsTable(const std::vector<std::string>& recordings);

}  // namespace tessera
