// A table of a report with a title above it and notes below, the same for text and page.
//
//   const ReportTable table = {.title = "Ablation", .notes = {"ms per token."}, .columns = {"system", "ms"}, .rows = {{"NPU", "57.4"}}};
//   Print(ReportTableText(table));
//   page += ReportTableHtml(table);
//
// Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

struct ReportTable {
  std::string title = {};
  std::vector<std::string> notes = {};                 // What columns are, and what papers say.
  std::vector<std::string> columns = {};
  int texts = 1;                                       // So many columns from the left are texts, the others numbers.
  std::vector<std::vector<std::string>> rows = {};     // A cell per column.
};

// Title, table and notes, each note on a line, and an empty line behind. REQUIRES: a cell per column.
std::string ReportTableText(const ReportTable& table);

// A heading, a table and a paragraph for each note. Cells of texts have the class "t", and "n" where they are names, in one line each:
// where at most two columns are texts. Any text may stand in it.
std::string ReportTableHtml(const ReportTable& table);

}  // namespace tessera
