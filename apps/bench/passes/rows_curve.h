// The cost of each further row of a pass: the time of passes of 1, 2, 4, ... tokens, and the bound of each time.
//
//   ASSIGN_OR_RETURN(const std::vector<int> rows, ParseRows("1,2,4,8"));
//   ASSIGN_OR_RETURN(const RowsCurve curve, MeasureRowsCurve(*engine, path, rows, /*depth=*/0, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(RowsCurveText(curve)));
//
// The bound of n rows is 1.15 times the longer of two times: reading all bytes, and the products. Products count at the share of the INT8
// peak that the formats can reach (pass_work.h). Where the two times are within a factor of 1.5, the bound is 1.3 times the longer time,
// since then both limit the pass. For work that is not a product, each row adds a hundredth of the time of one row. Probes run between the
// passes. Logits are computed for the last row alone. Threads: the engine's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/passes/named_curve.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/spread.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct RowsPoint {
  int rows = 0;
  double seconds = 0;          // Median.
  double bound_seconds = 0;
  bool Holds() const { return seconds <= bound_seconds; }
};

struct RowsCurve {
  Spread read, int8, fp32;     // Probes: bytes and operations per second.
  std::vector<RowsPoint> points = {};
};

// Parses numbers in ascending order, from 1 to 512, separated by commas; or "default", which goes to 64. InvalidArgument (--rows) unless 1
// comes first, since the time of 1 row is the basis of all ratios.
absl::StatusOr<std::vector<int>> ParseRows(const std::string& list);

absl::StatusOr<RowsCurve> MeasureRowsCurve(Engine& engine, KernelPath path, const std::vector<int>& rows, int depth,
                                           int repetitions);

std::string RowsCurveText(const RowsCurve& curve);
// Writes members of an object: "name", "rows": [{"rows", "seconds", "ratio", "bound_seconds", "holds"}], and the probes.
void WriteRowsCurve(JsonWriter& json, const RowsCurve& curve);

// Returns both curves and the bound, as SVG. peer: null if there is no other engine's curve.
std::string RowsCurveSvg(const RowsCurve& curve, const std::string& title, const NamedCurve* peer);

}  // namespace tessera
