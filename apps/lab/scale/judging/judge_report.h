// Results of the methods of choosing among samples, as text and as JSON.
//
//   const JudgeReport report = {.task = "gsm8k", .questions = 660, .samples_each = 4, .scorer = "arithmetic", .figures = figures};
//   RETURN_IF_ERROR(WriteOutput(FLAGS_json ? JudgeJson(report) : JudgeText(report)));
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/apps/lab/scale/judging/judge.h"

namespace tessera {

struct JudgeReport {
  std::string task = {};
  std::string split = "all";
  int64_t questions = 0;
  int samples_each = 0;                 // The fewest samples of a question; 0: as many as are drawn.
  std::string scorer = {};
  uint64_t seed = 0;
  int draws = 0;
  int64_t agreeing = 0, stated = 0;     // See Recorded.
  std::vector<MethodFigures> figures = {};
};

std::string JudgeText(const JudgeReport& report);
std::string JudgeJson(const JudgeReport& report);

}  // namespace tessera
