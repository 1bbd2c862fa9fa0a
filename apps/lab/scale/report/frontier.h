// The configurations that no other one beats: as right for less, or more often right for as much.
//
//   const std::vector<FrontierPoint> points = {{.cost = 1, .value = 0.3}, {.cost = 2, .value = 0.2}, {.cost = 3, .value = 0.5}};
//   FrontierOf(points);                                    // {0, 2}: the second costs more than the first, and is right less often
//
// Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

struct FrontierPoint {
  double cost = 0, value = 0;   // Less cost is better, and more value. REQUIRES: numbers, none infinite.
};

// Whether `a` is at least as good as `b` in both, and better in one.
inline bool Dominates(const FrontierPoint& a, const FrontierPoint& b) {
  return a.cost <= b.cost && a.value >= b.value && (a.cost < b.cost || a.value > b.value);
}

// Places of the points that none dominates, by rising cost. Points that are equal are there together, in the order of their places.
std::vector<size_t> FrontierOf(absl::Span<const FrontierPoint> points);

}  // namespace tessera
