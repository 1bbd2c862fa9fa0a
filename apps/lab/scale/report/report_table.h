// A table of a report with a title above it and notes below, the same for text and page.
//
//   const ReportTable table = {.title = "Ablation", .notes = {"ms per token."}, .columns = {"system", "ms"}, .rows = {{"NPU", "57.4"}}};
//   Print(ReportTableText(table));                                  // or ReportTableText(table, 120): at most 120 columns
//   page += ReportTableHtml(table);
//
// Thread-safe (pure function).
#pragma once

#include <cstddef>
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
  std::string name = {};                               // One word, by which a table can be asked for.
};

// Title, table and notes, each note on a line, and an empty line behind. most_columns: lines are broken at spaces so that none is longer,
// as far as words allow; 0: any length. REQUIRES: a cell per column.
std::string ReportTableText(const ReportTable& table, size_t most_columns = 0);

// A heading, a table and a paragraph for each note. Cells of texts have the class "t", and "n" where they are names, in one line each:
// where at most two columns are texts. Any text may stand in it.
std::string ReportTableHtml(const ReportTable& table);

}  // namespace tessera
