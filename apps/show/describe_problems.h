// What VerifyModel found, as lines for people and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(ReportText(path, report)));
//
// One line a problem, then a summary. What comes from the file is escaped. Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/model/files/verify.h"

namespace tessera {

std::string CountOfProblems(const VerifyReport& report);  // "1 problem", "2 problems"
std::string ReportText(const std::string& path, const VerifyReport& report);
std::string ReportJson(const std::string& path, const VerifyReport& report);

}  // namespace tessera
