#include "tessera/apps/reproduce/report_table.h"

#include "absl/strings/str_cat.h"
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

}  // namespace tessera
