// A table of a report with a title above and notes below, the same for text and page.
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
  std::vector<std::string> notes = {};                 // Meanings of columns, and figures of papers.
  std::vector<std::string> columns = {};
  int texts = 1;                                       // Number of columns of texts, from the left; the others are numbers.
  std::vector<std::vector<std::string>> rows = {};     // A cell per column.
  std::string name = {};                               // One word that selects the table.
};

// Returns title, table and notes, each note on a line, then an empty line. most_columns: maximum length of lines, which are broken at
// spaces, as far as words allow; 0: any length. REQUIRES: a cell per column.
std::string ReportTableText(const ReportTable& table, size_t most_columns = 0);

// Returns a heading, a table and a paragraph for each note. Cells of texts have the class "t". If at most two columns are texts, the texts
// count as names, which stay on one line, and also have the class "n". Cells, title and notes may be any text.
std::string ReportTableHtml(const ReportTable& table);

}  // namespace tessera
