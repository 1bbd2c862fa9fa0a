// Which of a report's tables are printed: first a summary and the names of all, then any of them by name.
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

// Names of tables that a summary consists of: how near all is, and how often each order of a paper holds.
inline constexpr char kSummaryTable[] = "summary", kOrdersTable[] = "orders";

// name: empty: the summary, then a line for each table; "all": all tables; else those of that name. WrongUsage (table) for another name,
// with those that there are. REQUIRES: each table has a name.
absl::StatusOr<std::string> ShownTables(const std::vector<ReportTable>& tables, absl::string_view name);

// What was recorded, a row for each recording: named "recordings".
ReportTable RecordingsTable(const std::vector<std::string>& recordings);

}  // namespace tessera
