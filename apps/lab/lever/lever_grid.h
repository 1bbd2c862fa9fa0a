// The findings of tessera_lever --memory_grid: at each budget, whether the mode that auto chose is as fast as the fastest.
//
//   std::vector<LeverGridPoint> points = ...;                       // MeasureLever at each budget
//   RETURN_IF_ERROR(WriteOutput(LeverGridText(points)));
//   WriteLeverGrid(json.Key("grid"), points);
//
// Rates are geometric means over sets. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/base/json_writer.h"

namespace tessera {

inline constexpr double kAutoOfBest = 0.95;   // The target of AutoOfBest.

struct LeverGridPoint {
  double share = 0;               // LeverModels::Options::weights_share.
  LeverFindings findings = {};    // All points have the same systems, auto among them.
};

// Returns the rate of auto, as a share of the best other system's rate. nullopt: auto or all others were not measured.
std::optional<double> AutoOfBest(const LeverFindings& findings);

std::string LeverGridText(const std::vector<LeverGridPoint>& points);
// Writes [{"share", "memory_budget", "auto_of_best", "lever": the object of WriteLever}].
void WriteLeverGrid(JsonWriter& json, const std::vector<LeverGridPoint>& points);

}  // namespace tessera
