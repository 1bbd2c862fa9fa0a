// Accuracy over samples of models that are here, as tessera_scale judged them: lines of judge --json, or of a grid's results.
//
//   ASSIGN_OR_RETURN(const std::vector<AccuracyCurve> curves, ReadAccuracyCurves("curves.jsonl"));
//   for (const AccuracyCurve& curve : curves)
//     for (const AccuracyPoint& point : curve.points) Print(curve.name(), point.way, point.samples, point.gain.mean);
//
// They are of these models, or of recorded samples, and never the paper's. A line is hostile until checked. These fields count, and others
// may stand beside them; "model" may be there, so that a curve can say whose it is. A line with "figures" is a curve:
//
//   {"task":"gsm8k","scorer":"arithmetic","figures":[{"samples":4,"way":"majority","right":{"mean":0.46,"low":0.43,"high":0.5},
//    "gain":{"mean":0.09,"low":0.07,"high":0.1}}]}
//
// and any other a point (apps/lab/scale/grid/grid_results.h); those of a task make a curve:
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
  std::string scorer = {};                  // Empty: ways of points say it.
  std::vector<AccuracyPoint> points = {};   // At least one.
  std::string name() const;                 // "gsm8k, scorer arithmetic", with the model before it, if that is known.
};

// InvalidArgument (source, line, field, found, expected) for a text without curves, and for what is none. Those of ReadTextFile
// (base/text_file.h) for files.
absl::StatusOr<std::vector<AccuracyCurve>> ParseAccuracyCurves(absl::string_view text, absl::string_view source);
absl::StatusOr<std::vector<AccuracyCurve>> ReadAccuracyCurves(const std::string& path);

}  // namespace tessera
