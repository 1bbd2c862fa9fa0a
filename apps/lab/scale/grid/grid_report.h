// The report of one grid or of several side by side: tables for a terminal, a page, and JSON.
//
//   ASSIGN_OR_RETURN(const GridView view, GridView::Read({"grid_135m", "grid_360m"}));
//   Print(GridReportText(view));
//   RETURN_IF_ERROR(WriteTextFile("report.html", GridReportHtml(view)));             // one file, readable without a network
//   Print(GridLines(view));                                                          // a line of JSON for each configuration
//
// The page has for each task and each clock the chart of its frontier, then a table with all that the charts show, and where a smaller
// model beats a larger one; then what each grid was made from. Whatever names, commands and files hold is escaped. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tessera/apps/lab/scale/grid/grid_view.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

std::string GridReportText(const GridView& view);
std::string GridReportHtml(const GridView& view);

// As results.jsonl has them (grid_results.h) and, where it was measured, what this machine took as "host": a line of times.jsonl
// (host_times.h).
std::string GridLines(const GridView& view);

// {"runs": [{"folder"} and what grid.json has], "configurations": [as the lines], "frontiers": [{"task", "clock", "name",
// "configurations"}], "crossings": [{"task", "clock", "name", "smaller", "larger", "apart"}]}; configurations by their places. A clock is
// host, phone or energy.
std::string GridReportJson(const GridView& view);

// What a clock says: "seconds per question on AMD EPYC 7B13, 2 threads, avx2", "J per question by 8gen3, operators".
std::string ClockLabel(const GridClock& clock);

// The tables of text and page, in order (grid_tables.cc).
ReportTable GridConfigurationTable(const GridView& view, const std::string& task);
ReportTable GridCrossingTable(const GridView& view, const std::string& task);
ReportTable GridRunTable(const GridView& view);

}  // namespace tessera
