// Reports of phones (runtime/plan/phone_report.h) as tables, as JSON and as a picture.
//
//   ASSIGN_OR_RETURN(const PhoneReport report, MakePhoneReport({.device = "8gen3", .shape = "qwen2.5-1.5b", .prompt = 512}));
//   Print(PhoneReportText(report));                       // tables
//   Print(PhoneReportJson(report));
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/runtime/plan/phone_report.h"

namespace tessera {

std::string PhoneReportText(const PhoneReport& report);
std::string PhoneReportJson(const PhoneReport& report);
// Draws tokens per second by rows, next to the speed that each part alone would allow.
std::string PhoneReportSvg(const PhoneReport& report);

}  // namespace tessera
