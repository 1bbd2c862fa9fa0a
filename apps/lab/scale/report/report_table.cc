#include "tessera/apps/lab/scale/report/report_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/lab/scale/report/broken_lines.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/table.h"

namespace tessera {

namespace {

constexpr size_t kBetween = 2;   // Spaces between columns.

// The longest word and the longest cell of each column.
struct ColumnWidths { std::vector<size_t> least = {}, widths = {}; };

ColumnWidths WidthsOf(const ReportTable& table) {
  ColumnWidths found = {std::vector<size_t>(table.columns.size()), std::vector<size_t>(table.columns.size())};
  const auto take = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      found.widths[i] = std::max(found.widths[i], ShownWidth(cells[i]));
      for (const absl::string_view word : absl::StrSplit(cells[i], ' ')) found.least[i] = std::max(found.least[i], ShownWidth(word));
    }
  };
  take(table.columns);
  for (const std::vector<std::string>& row : table.rows) take(row);
  return found;
}

// Narrows the widest column, as long as a column is wider than the column's longest word.
std::vector<size_t> FittedWidths(const ReportTable& table, size_t most_columns) {
  auto [least, widths] = WidthsOf(table);
  size_t all = kBetween * (widths.size() - 1);
  for (size_t i = 0; i < widths.size(); ++i) {
    widths[i] = std::min(widths[i], std::max(least[i], Table::kWidest));
    all += widths[i];
  }
  while (all > most_columns) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --all;
  }
  return widths;
}

// Returns a row as several rows, one per line of the cells. Cells with fewer lines begin at the first row, or end at the last row.
enum class Side : uint8_t { kFirst, kLast };
std::vector<std::vector<std::string>> Broken(const std::vector<std::string>& cells, const std::vector<size_t>& widths, Side side) {
  std::vector<std::vector<std::string>> lines(cells.size());
  size_t most = 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    lines[i] = BrokenLines(cells[i], widths[i]);
    most = std::max(most, lines[i].size());
  }
  std::vector<std::vector<std::string>> rows(most, std::vector<std::string>(cells.size()));
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t first = side == Side::kFirst ? 0 : most - lines[i].size();
    for (size_t line = 0; line < lines[i].size(); ++line) rows[first + line][i] = std::move(lines[i][line]);
  }
  return rows;
}

// Returns the table as text. The table's header is the last line of all headers. The lines before are added as the first rows, then moved
// above the header.
std::string TableText(const ReportTable& table, const std::vector<size_t>& widths) {
  const std::vector<std::vector<std::string>> headers = Broken(table.columns, widths, Side::kLast);
  std::vector<Table::Column> columns;
  for (const std::string& header : headers.back()) {
    columns.push_back({header, static_cast<int>(columns.size()) < table.texts ? Table::Align::kLeft : Table::Align::kRight});
  }
  Table shown(columns);
  for (size_t i = 0; i + 1 < headers.size(); ++i) shown.AddRow(headers[i]);
  for (const std::vector<std::string>& row : table.rows) {
    for (std::vector<std::string>& line : Broken(row, widths, Side::kFirst)) shown.AddRow(std::move(line));
  }
  std::vector<std::string> lines = absl::StrSplit(shown.ToString(), '\n');
  std::rotate(lines.begin(), lines.begin() + 2, lines.begin() + 1 + static_cast<ptrdiff_t>(headers.size()));
  return absl::StrJoin(lines, "\n");
}

}  // namespace

std::string ReportTableText(const ReportTable& table, size_t most_columns) {
  const size_t most = most_columns == 0 ? std::numeric_limits<size_t>::max() : most_columns;
  std::string text;
  for (const std::string& line : BrokenLines(table.title, most)) absl::StrAppend(&text, line, "\n");
  absl::StrAppend(&text, "\n", TableText(table, most_columns == 0 ? WidthsOf(table).widths : FittedWidths(table, most)));
  for (const std::string& note : table.notes) absl::StrAppend(&text, absl::StrJoin(BrokenLines(note, most), "\n"), "\n");
  return absl::StrCat(text, "\n");
}

std::string ReportTableHtml(const ReportTable& table) {
  constexpr int kNames = 2;   // Up to this number of columns of texts, the texts are names, in one line each; more columns are sentences.
  std::string page = absl::StrCat("<h2>", SvgEscaped(table.title), "</h2>\n<table>\n");
  const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
    absl::StrAppend(&page, "<tr>");
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool text = static_cast<int>(i) < table.texts;
      const char* const left = !text ? "" : table.texts <= kNames ? " class=\"t n\"" : " class=\"t\"";
      absl::StrAppend(&page, "<", tag, left, ">", SvgEscaped(cells[i]), "</", tag, ">");
    }
    absl::StrAppend(&page, "</tr>\n");
  };
  row(table.columns, "th");
  for (const std::vector<std::string>& cells : table.rows) row(cells, "td");
  absl::StrAppend(&page, "</table>\n");
  for (const std::string& note : table.notes) absl::StrAppend(&page, "<p>", SvgEscaped(note), "</p>\n");
  return page;
}

}  // namespace tessera
