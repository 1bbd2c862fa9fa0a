// Figures in JSON: an estimate as {"mean": 0.3, "low": 0.2, "high": 0.4}, and numbers from outside, within bounds.
//
//   WriteEstimate("right", figures.accuracy, json);
//   ASSIGN_OR_RETURN(const Estimate right, ReadEstimate(record, "right", /*least=*/0, /*most=*/1));
//   ASSIGN_OR_RETURN(const double seconds, ReadNumber(record, "seconds", 0, 1e9));       // "...: seconds: found -1, expected 0 to 1e+09"
//
// Errors are the errors of JsonValue. Pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/judging/estimates.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"

namespace tessera {

// Writes six digits of each number.
void WriteEstimate(absl::string_view name, const Estimate& estimate, JsonWriter& json);

// Reads an estimate. All three numbers must be from `least` to `most`, and low at most high.
absl::StatusOr<Estimate> ReadEstimate(const JsonValue& object, absl::string_view name, double least, double most);

absl::StatusOr<double> ReadNumber(const JsonValue& object, absl::string_view name, double least, double most);

}  // namespace tessera
