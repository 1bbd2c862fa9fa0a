// How fast the products of each block format are where memory does not matter: operations a second of one thread, weights in cache.
//
//   ASSIGN_OR_RETURN(const std::vector<ProductSpeed> speeds, MeasureProducts(KernelPath::kAvx2, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(ProductSpeedsText(speeds)));
//
// The kernel alone: rows are rounded before, and no model is loaded. Beside each stands the INT8 peak, probed between the repetitions
// (FP32's for formats of plain floats). Fine products are timed in the formats that heads are of most: Q8_0 and Q6_K. An
// operation is a multiplication or an addition. Threads: the caller's only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/quant/block_format.h"

namespace tessera {

struct ProductSpeed {
  struct Point { int rows; double operations; };   // A second; the median over the repetitions.
  BlockFormat format = BlockFormat::kF32;
  bool fine = false;                               // Rows of 16 bits instead of 8 (quant/activation.h).
  std::vector<Point> points;
  double peak = 0;                                 // Operations a second; likewise.
};

// REQUIRES: this CPU supports `path`; repetitions >= 1.
absl::StatusOr<std::vector<ProductSpeed>> MeasureProducts(KernelPath path, int repetitions);

// Of a row of one format alone, in some milliseconds. REQUIRES: this CPU supports `path`.
absl::StatusOr<double> MeasureRowProduct(BlockFormat format, KernelPath path);

std::string ProductSpeedsText(const std::vector<ProductSpeed>& speeds);
void WriteProductSpeeds(JsonWriter& json, const std::vector<ProductSpeed>& speeds);

}  // namespace tessera
