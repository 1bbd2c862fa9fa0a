#include "tessera/apps/lab/scale/report/figures_json.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {

void WriteEstimate(absl::string_view name, const Estimate& estimate, JsonWriter& json) {
  constexpr int kDigits = 6;
  json.Key(name).BeginObject().Key("mean").Double(estimate.mean, kDigits).Key("low").Double(estimate.low, kDigits);
  json.Key("high").Double(estimate.high, kDigits).EndObject();
}

absl::StatusOr<Estimate> ReadEstimate(const JsonValue& object, absl::string_view name, double least, double most) {
  ASSIGN_OR_RETURN(const JsonValue json, object.Object(name));
  Estimate estimate;
  ASSIGN_OR_RETURN(estimate.mean, ReadNumber(json, "mean", least, most));
  ASSIGN_OR_RETURN(estimate.low, ReadNumber(json, "low", least, most));
  ASSIGN_OR_RETURN(estimate.high, ReadNumber(json, "high", estimate.low, most));
  return estimate;
}

absl::StatusOr<double> ReadNumber(const JsonValue& object, absl::string_view name, double least, double most) {
  ASSIGN_OR_RETURN(const double number, object.Double(name));
  if (number >= least && number <= most) return number;
  ASSIGN_OR_RETURN(const JsonValue value, object.Value(name));
  return value.Error(absl::StrCat(number), absl::StrCat(least, " to ", most));
}

}  // namespace tessera
