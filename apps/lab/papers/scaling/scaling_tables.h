// Makes the tables of a report of test-time scaling.
//
//   for (const ReportTable& table : ScalingTables(report)) Print(ReportTableText(table));
//
// Thread-safe (pure function).
#pragma once

#include <vector>

#include "tessera/apps/lab/papers/scaling/scaling_report.h"
#include "tessera/apps/lab/scale/report/report_table.h"

namespace tessera {

// Figures that are neither compared nor predicted, and the reason: also in the JSON.
struct NotAddressed { const char *what, *why; };
inline constexpr NotAddressed kScalingNotAddressed[] = {
    {"figures 5 and 10: accuracy",
     "pictures; what these models answer with Skywork-1.5B-PRM as scorer takes the models, on a GPU: break-even stands in their place"},
    {"figures 11, 12 and 17: curves", "pictures; ours are printed, and the orders that the text states are judged"},
    {"figure 13: GPU and QNN beside the system", "a picture, and there is no model of a GPU"},
    {"figure 16: the CPU's load",
     "a picture; that at most 4 cores work is where the profile's rate of the CPU comes from, so that it predicts nothing"},
    {"tables 1, 4 and 5: accuracy by weights and attention", "docs/tiles.md"},
    {"table 2", "parameters of the profile are from it"},
    {"figures 14 and 15: softmax and products", "tessera_reproduce npu"},
};

std::vector<ReportTable> ScalingTables(const ScalingReport& report);

}  // namespace tessera
