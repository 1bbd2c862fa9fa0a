// The report of VerifyModel, as lines for people and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(ReportText(path, report)));
//
// One line per problem, then a summary. Text from the file is escaped. Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/model/files/verify.h"

namespace tessera {

std::string CountOfProblems(const VerifyReport& report);  // "1 problem", "2 problems"
std::string ReportText(const std::string& path, const VerifyReport& report);
std::string ReportJson(const std::string& path, const VerifyReport& report);

}  // namespace tessera
