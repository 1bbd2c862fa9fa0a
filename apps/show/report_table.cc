#include "tessera/apps/show/report_table.h"

#include "absl/strings/str_cat.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/table.h"

namespace tessera {

std::string ReportTableText(const ReportTable& table) {
  std::vector<Table::Column> columns;
  for (const std::string& header : table.columns) {
    columns.push_back({header, static_cast<int>(columns.size()) < table.texts ? Table::Align::kLeft : Table::Align::kRight});
  }
  Table shown(columns);
  for (const std::vector<std::string>& row : table.rows) shown.AddRow(row);
  std::string text = absl::StrCat(table.title, "\n\n", shown.ToString());
  for (const std::string& note : table.notes) absl::StrAppend(&text, note, "\n");
  return absl::StrCat(text, "\n");
}

std::string ReportTableHtml(const ReportTable& table) {
  constexpr int kNames = 2;   // So many columns of texts are names, in one line each; more are sentences.
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
