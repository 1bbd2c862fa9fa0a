// Reads curves of accuracy over samples, as tessera_scale judged models that are here: lines of judge --json, or of a grid's results.
//
//   ASSIGN_OR_RETURN(const std::vector<AccuracyCurve> curves, ReadAccuracyCurves("curves.jsonl"));
//   for (const AccuracyCurve& curve : curves)
//     for (const AccuracyPoint& point : curve.points) Print(curve.name(), point.way, point.samples, point.gain.mean);
//
// Curves are of these models, or of recorded samples, and never the paper's. A line is hostile until checked. The following fields count;
// other fields may be present. "model" is optional and names the curve's model. A line with "figures" is a curve:
//
//   {"task":"gsm8k","scorer":"arithmetic","figures":[{"samples":4,"way":"majority","right":{"mean":0.46,"low":0.43,"high":0.5},
//    "gain":{"mean":0.09,"low":0.07,"high":0.1}}]}
//
// and any other line is a point (apps/lab/scale/grid/grid_results.h); the points of a task make a curve:
//
//   {"task":"gsm8k","method":"best","scorer":"brevity","samples":4,"right":{...},"gain":{...}}
//
// Plain data and pure functions: thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/judging/estimates.h"

namespace tessera {

struct AccuracyPoint {
  int samples = 0;
  std::string way = {};
  Estimate right = {}, gain = {};   // Shares of questions; the gain is over one sample.
};

struct AccuracyCurve {
  std::string model = {}, task = {};
  std::string scorer = {};                  // Empty: ways of points name the scorer.
  std::vector<AccuracyPoint> points = {};   // At least one.
  std::string name() const;                 // "gsm8k, scorer arithmetic", after the model's name, if known.
};

// Reads curves. InvalidArgument (source, line, field, found, expected) for a text without curves, and for an invalid line. For files: also
// the errors of ReadTextFile (base/text_file.h).
absl::StatusOr<std::vector<AccuracyCurve>> ParseAccuracyCurves(absl::string_view text, absl::string_view source);
absl::StatusOr<std::vector<AccuracyCurve>> ReadAccuracyCurves(const std::string& path);

}  // namespace tessera
