#include "tessera/base/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <glog/logging.h>

namespace tessera {

Spread SpreadOf(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {values.front(), median, values.back()};
}

void WriteSpread(JsonWriter& json, const Spread& spread) {
  json.BeginObject().Key("min").Double(spread.min, 6).Key("median").Double(spread.median, 6).Key("max").Double(spread.max, 6);
  json.EndObject();
}

double MedianOf(std::vector<double> values) { return SpreadOf(std::move(values)).median; }

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double Quantile(const std::vector<double>& values, double share) {
  CHECK(!values.empty());
  const double place = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place), above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

}  // namespace tessera
