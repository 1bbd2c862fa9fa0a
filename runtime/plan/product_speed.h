// The speed of the products of each block format without the limit of memory: operations per second of one thread, weights in cache.
//
//   ASSIGN_OR_RETURN(const std::vector<ProductSpeed> speeds, MeasureProducts(KernelPath::kAvx2, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(ProductSpeedsText(speeds)));
//
// Only the kernel is timed: rows are rounded before, and no model is loaded. Beside each speed stands the INT8 peak, probed between the
// repetitions (the FP32 peak for plain floats). Fine products are timed in the formats that most heads have: Q8_0 and Q6_K. An operation is
// a multiplication or an addition. Threads: the caller's only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/quant/block_format.h"

namespace tessera {

struct ProductSpeed {
  struct Point { int rows; double operations; };   // Operations per second; the median over the repetitions.
  BlockFormat format = BlockFormat::kF32;
  bool fine = false;                               // Rows of 16 bits instead of 8 (quant/activation.h).
  std::vector<Point> points;
  double peak = 0;                                 // Operations per second; likewise.
};

// REQUIRES: this CPU supports `path`; repetitions >= 1.
absl::StatusOr<std::vector<ProductSpeed>> MeasureProducts(KernelPath path, int repetitions);

// Operations per second for one row and one format, measured in some milliseconds. REQUIRES: this CPU supports `path`.
absl::StatusOr<double> MeasureRowProduct(BlockFormat format, KernelPath path);

std::string ProductSpeedsText(const std::vector<ProductSpeed>& speeds);
void WriteProductSpeeds(JsonWriter& json, const std::vector<ProductSpeed>& speeds);

}  // namespace tessera
