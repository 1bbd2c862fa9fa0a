#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/reproduce/sdnpu_report.h"
#include "tessera/apps/reproduce/sdnpu_tables.h"
#include "tessera/base/table.h"

namespace tessera {

std::string SdnpuReportText(const SdnpuReport& report) {
  std::string text;
  for (const SdnpuTable& shown : SdnpuTables(report)) {
    std::vector<Table::Column> columns;
    for (const std::string& header : shown.columns) {
      columns.push_back({header, static_cast<int>(columns.size()) < shown.texts ? Table::Align::kLeft : Table::Align::kRight});
    }
    Table table(columns);
    for (const std::vector<std::string>& row : shown.rows) table.AddRow(row);
    absl::StrAppend(&text, shown.title, "\n\n", table.ToString());
    for (const std::string& note : shown.notes) absl::StrAppend(&text, note, "\n");
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "Recordings\n\n");
  for (const std::string& recording : report.recordings) absl::StrAppend(&text, recording, "\n");
  return text;
}

}  // namespace tessera
