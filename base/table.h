// A text table for a terminal: columns as wide as their widest cell but at most kWidest, text to the left, numbers to the right.
//
//   Table table({{"model"}, {"tokens/s", Table::Align::kRight}});
//   table.AddRow({"SmolLM2-135M", "92.4"});
//   std::cout << table.ToString();
//
// A row is one line: line breaks and other control characters of cells are escaped (PrintableLine in quoted.h). A cell longer than kWidest
// is written whole and pushes the rest of the line to the right. Other lines are not padded to the cell's length. Widths count characters,
// not bytes.
//
// Threads: thread-compatible.
// Errors: a row with another number of cells is a CHECK failure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the number of characters, by the counting of column widths.
size_t ShownWidth(absl::string_view text);

class Table {
 public:
  static constexpr size_t kWidest = 80;   // Largest width of a column.
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header = {};
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns);  // REQUIRES: at least one column.
  void AddRow(std::vector<std::string> cells);  // REQUIRES: one cell per column.

  // Returns header, rule and rows; each line ends with a line break and has no spaces before the break.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tessera
