#include "tessera/apps/bench/passes/named_curve.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"

namespace tessera {
namespace {

constexpr int64_t kLargestCurveFile = 1 << 20;

}  // namespace

absl::StatusOr<NamedCurve> ParseCurve(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(text, source));
  NamedCurve curve;
  ASSIGN_OR_RETURN(curve.name, json.String("name"));
  ASSIGN_OR_RETURN(const JsonValue rows, json.Array("rows"));
  for (int64_t i = 0; i < rows.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t count, rows[i].Int("rows"));
    ASSIGN_OR_RETURN(const double seconds, rows[i].Double("seconds"));
    if (count < 1 || !(seconds >= 0 && seconds < 1e6)) {
      return absl::InvalidArgumentError(absl::StrCat(source, ": rows[", i, "]: found ", count, " rows in ", seconds,
                                                     " seconds, expected 1 row or more in 0 to 1e6 seconds"));
    }
    curve.points.emplace_back(static_cast<double>(count), seconds);
  }
  return curve;
}

absl::StatusOr<NamedCurve> ReadCurve(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargestCurveFile));
  return ParseCurve(text, path);
}

}  // namespace tessera
