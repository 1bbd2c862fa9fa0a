// An axis of a chart: converts numbers to places on the axis, and has the numbers next to the axis.
//
//   const ChartAxis axis = ChartAxis::Around({2.5, 40}, /*begin=*/60, /*end=*/700);    // powers: 40 is more than thrice 2.5
//   axis.At(10);                                                                       // a place from 60 to 700
//   for (const double tick : axis.ticks()) Draw(axis.At(tick), tick);                  // 5, 10, 20: 1, 2 or 5 times a power of ten
//
// If the largest number is less than three times the smallest, steps are equal. Pure functions.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class ChartAxis {
 public:
  // Returns an axis for numbers above 0, with some room at both ends. No numbers: from 1 to 10.
  static ChartAxis Around(absl::Span<const double> numbers, double begin, double end);
  // Returns an axis with equal steps, from `low` to `high`, moved apart to whole ticks. REQUIRES: low <= high.
  static ChartAxis Between(double low, double high, double begin, double end);

  double At(double number) const;
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  ChartAxis(double low, double high, double begin, double end, bool powers);
  double Scaled(double number) const;
  void AddEqualTicks();
  void AddPowerTicks();

  double low_, high_, begin_, end_;
  bool powers_;
  std::vector<double> ticks_;
};

}  // namespace tessera
