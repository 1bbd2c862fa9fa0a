// Makes a report's tables, the same for text and page: each table with the papers' statements about its subject.
//
//   for (const SdnpuTable& table : SdnpuTables(report)) Print(table.title, table.columns, table.rows, table.notes);
//
// Thread-safe (pure function).
#pragma once

#include <vector>

#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

using SdnpuTable = ReportTable;

std::vector<SdnpuTable> SdnpuTables(const SdnpuReport& report);

}  // namespace tessera
