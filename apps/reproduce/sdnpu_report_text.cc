#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/apps/reproduce/sdnpu_report.h"
#include "tessera/apps/reproduce/sdnpu_tables.h"

namespace tessera {

std::string SdnpuReportText(const SdnpuReport& report) {
  std::string text;
  for (const SdnpuTable& table : SdnpuTables(report)) absl::StrAppend(&text, ReportTableText(table));
  absl::StrAppend(&text, "Recordings\n\n");
  for (const std::string& recording : report.recordings) absl::StrAppend(&text, recording, "\n");
  return text;
}

}  // namespace tessera
