// The report of one grid or of several side by side: tables for a terminal, a page, and JSON.
//
//   ASSIGN_OR_RETURN(const GridView view, GridView::Read({"grid_135m", "grid_360m"}));
//   Print(GridReportText(view));
//   RETURN_IF_ERROR(WriteTextFile("report.html", GridReportHtml(view)));             // one file, readable without a network
//   Print(GridLines(view));                                                          // a line of JSON for each configuration
//
// The page has, for each task and each clock, the chart of the frontier. Then follow a table with all values of the charts, a table of
// smaller models that beat larger models, and the origin of each grid. All content of names, commands and files is escaped. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tessera/apps/lab/scale/grid/grid_view.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

std::string GridReportText(const GridView& view);
std::string GridReportHtml(const GridView& view);

// Returns the lines of results.jsonl (grid_results.h). A configuration that was timed on this machine also has "host": a line of
// times.jsonl (host_times.h).
std::string GridLines(const GridView& view);

// Returns {"runs": [{"folder"} and the fields of grid.json], "configurations": [the objects of GridLines], "frontiers": [{"task", "clock",
// "name", "configurations"}], "crossings": [{"task", "clock", "name", "smaller", "larger", "apart"}]}. "frontiers" and "crossings" name
// configurations by place. A clock is host, phone or energy.
std::string GridReportJson(const GridView& view);

// Returns a clock's unit and name: "seconds per question on AMD EPYC 7B13, 2 threads, avx2", "J per question by 8gen3, operators".
std::string ClockLabel(const GridClock& clock);

// Return the tables of text and page, in order (grid_tables.cc).
ReportTable GridConfigurationTable(const GridView& view, const std::string& task);
ReportTable GridCrossingTable(const GridView& view, const std::string& task);
ReportTable GridRunTable(const GridView& view);

}  // namespace tessera
