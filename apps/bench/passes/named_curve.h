// A curve of times over rows, read from a file that Tessera or another engine wrote.
//
//   ASSIGN_OR_RETURN(const NamedCurve curve, ReadCurve("peer.json"));
//   for (const auto& [rows, seconds] : curve.points) Print(curve.name, rows, seconds);
//
// A file is a JSON object. Only "name" counts, and "rows" and "seconds" of each entry of "rows"; other members are allowed. A file is
// hostile until checked. Thread-safe (pure functions).
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

// Parses a curve, or reads a file with a curve. InvalidArgument (source, field, found, expected); for files also the errors of ReadTextFile
// (base/text_file.h).
absl::StatusOr<NamedCurve> ParseCurve(absl::string_view text, absl::string_view source);
absl::StatusOr<NamedCurve> ReadCurve(const std::string& path);

}  // namespace tessera
