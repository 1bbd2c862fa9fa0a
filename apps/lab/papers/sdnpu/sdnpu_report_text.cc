#include <string>
#include <vector>

#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_tables.h"

namespace tessera {

absl::StatusOr<std::string> SdnpuReportText(const SdnpuReport& report, absl::string_view table) {
  std::vector<SdnpuTable> tables = SdnpuTables(report);
  tables.push_back(RecordingsTable(report.recordings));
  return ShownTables(tables, table);
}

}  // namespace tessera
