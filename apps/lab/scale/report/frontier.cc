#include "tessera/apps/lab/scale/report/frontier.h"

#include <algorithm>
#include <numeric>

namespace tessera {

std::vector<size_t> FrontierOf(absl::Span<const FrontierPoint> points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return points[a].cost != points[b].cost ? points[a].cost < points[b].cost : points[a].value > points[b].value;
  });
  std::vector<size_t> frontier;
  for (const size_t place : order) {
    // The last point of the frontier has the largest value so far, and costs no more.
    if (frontier.empty() || !Dominates(points[frontier.back()], points[place])) frontier.push_back(place);
  }
  return frontier;
}

}  // namespace tessera
