// Computes the figures that sum up repeated measurements: least, median, most, quantiles, the geometric mean.
//
//   Spread spread = SpreadOf({5.1, 5.3, 4.9});                 // min 4.9, median 5.1, max 5.3
//   WriteSpread(json.Key("tokens_per_second"), spread);
//
// Plain functions; thread-safe.
#pragma once

#include <vector>

#include "tessera/base/json_writer.h"

namespace tessera {

struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
};

// Returns the least value, the median and the largest value. REQUIRES: values is not empty.
Spread SpreadOf(std::vector<double> values);

// Writes {"min": ..., "median": ..., "max": ...} with six decimals.
void WriteSpread(JsonWriter& json, const Spread& spread);

// Returns the median. REQUIRES: values is not empty.
double MedianOf(std::vector<double> values);

// Returns the geometric mean, 0 for no values. REQUIRES: every value is positive.
double GeometricMean(const std::vector<double>& values);

// Returns the value below which `share` of the values lie; a share of 0.5 is the median. REQUIRES: values is sorted and not empty.
double Quantile(const std::vector<double>& values, double share);

}  // namespace tessera
