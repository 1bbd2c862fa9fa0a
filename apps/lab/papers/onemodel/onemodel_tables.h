// Makes a report's tables: the one-for-all paper's, each next to predictions on modeled phones, then the whole set-up with eight tasks.
//
//   for (const ReportTable& table : OnemodelTables(report)) Print(ReportTableText(table));
//
// Thread-safe (pure function).
#pragma once

#include <vector>

#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

std::vector<ReportTable> OnemodelTables(const OnemodelReport& report);

}  // namespace tessera
