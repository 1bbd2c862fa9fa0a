// A curve of times over rows that was written to a file: of another engine, or one of ours.
//
//   ASSIGN_OR_RETURN(const NamedCurve curve, ReadCurve("peer.json"));
//   for (const auto& [rows, seconds] : curve.points) Print(curve.name, rows, seconds);
//
// A file is an object, of which "name" and of each of "rows" its "rows" and "seconds" count; others may stand beside them. It is hostile
// until checked. Thread-safe (pure functions).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

struct NamedCurve {
  std::string name;
  std::vector<std::pair<double, double>> points;   // Rows, seconds.
};

// InvalidArgument (source, field, found, expected). Errors of files are the errors of ReadTextFile (base/text_file.h).
absl::StatusOr<NamedCurve> ParseCurve(absl::string_view text, absl::string_view source);
absl::StatusOr<NamedCurve> ReadCurve(const std::string& path);

}  // namespace tessera
