// The configurations that no other configuration beats. Beating means: as often right for less cost, or more often right for the same cost.
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
  double cost = 0, value = 0;   // Less cost and more value are better. REQUIRES: numbers, none infinite.
};

// Whether `a` is at least as good as `b` in cost and in value, and better in one of the two.
inline bool Dominates(const FrontierPoint& a, const FrontierPoint& b) {
  return a.cost <= b.cost && a.value >= b.value && (a.cost < b.cost || a.value > b.value);
}

// Returns the places of the points that no point dominates, by rising cost. Equal points are all included, in the order of places.
std::vector<size_t> FrontierOf(absl::Span<const FrontierPoint> points);

}  // namespace tessera
