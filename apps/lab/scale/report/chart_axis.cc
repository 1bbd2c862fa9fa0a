#include "tessera/apps/lab/scale/report/chart_axis.h"

#include <algorithm>
#include <cmath>

#include "tessera/apps/show/svg_plot.h"

namespace tessera {

ChartAxis::ChartAxis(double low, double high, double begin, double end, bool powers)
    : low_(low), high_(high), begin_(begin), end_(end), powers_(powers) {
  powers_ ? AddPowerTicks() : AddEqualTicks();
}

ChartAxis ChartAxis::Around(absl::Span<const double> numbers, double begin, double end) {
  constexpr double kPowersFrom = 3, kRoom = 0.08;
  if (numbers.empty()) return ChartAxis(1, 10, begin, end, /*powers=*/true);
  const double least = *std::min_element(numbers.begin(), numbers.end()), most = *std::max_element(numbers.begin(), numbers.end());
  if (most < kPowersFrom * least) {
    const double room = most > least ? kRoom * (most - least) : 0.5 * most;
    return ChartAxis(std::max(0.0, least - room), most + room, begin, end, /*powers=*/false);
  }
  const double factor = std::pow(most / least, kRoom);
  return ChartAxis(least / factor, most * factor, begin, end, /*powers=*/true);
}

ChartAxis ChartAxis::Between(double low, double high, double begin, double end) {
  const double step = SvgTickStep(high > low ? high - low : std::max(std::abs(high), 1.0));
  const double from = std::floor(low / step) * step, to = std::ceil(high / step) * step;
  return ChartAxis(from, to > from ? to : from + step, begin, end, /*powers=*/false);
}

double ChartAxis::Scaled(double number) const { return powers_ ? std::log(number) : number; }

double ChartAxis::At(double number) const {
  return begin_ + (Scaled(number) - Scaled(low_)) / (Scaled(high_) - Scaled(low_)) * (end_ - begin_);
}

void ChartAxis::AddEqualTicks() {
  const double step = SvgTickStep(high_ - low_), slack = 1e-9 * step;
  for (double count = std::ceil((low_ - slack) / step); count * step <= high_ + slack; ++count) {
    ticks_.push_back(count * step + 0.0);   // No -0.
  }
}

void ChartAxis::AddPowerTicks() {
  constexpr double kMostWithDigits = 4, kMostPowers = 8, kLeastTicks = 3;
  const double powers = std::log10(high_ / low_), step = std::ceil(powers / kMostPowers);
  for (double power = std::floor(std::log10(low_)); power <= std::ceil(std::log10(high_)); power += step) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10, power);
      if (tick >= low_ && tick <= high_ && (digit == 1 || powers <= kMostWithDigits)) ticks_.push_back(tick);
    }
  }
  if (static_cast<double>(ticks_.size()) >= kLeastTicks) return;
  ticks_.clear();
  AddEqualTicks();
}

}  // namespace tessera
