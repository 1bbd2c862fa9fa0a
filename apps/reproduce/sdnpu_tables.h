// A report's tables, the same for text and page: each with what the papers say about it.
//
//   for (const SdnpuTable& table : SdnpuTables(report)) Print(table.title, table.columns, table.rows, table.notes);
//
// Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "tessera/apps/reproduce/sdnpu_report.h"

namespace tessera {

struct SdnpuTable {
  std::string title = {};
  std::vector<std::string> notes = {};                 // What columns are, and what papers say.
  std::vector<std::string> columns = {};
  int texts = 1;                                       // So many columns from the left are texts, the others numbers.
  std::vector<std::vector<std::string>> rows = {};     // A cell per column.
};

std::vector<SdnpuTable> SdnpuTables(const SdnpuReport& report);

}  // namespace tessera
