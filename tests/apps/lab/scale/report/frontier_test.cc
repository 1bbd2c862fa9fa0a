// What no other configuration beats, against the definition, in small random instances with many ties.
#include "tessera/apps/lab/scale/report/frontier.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(Frontier, HeaderExample) {
  const std::vector<FrontierPoint> points = {{.cost = 1, .value = 0.3}, {.cost = 2, .value = 0.2}, {.cost = 3, .value = 0.5}};
  EXPECT_EQ(FrontierOf(points), (std::vector<size_t>{0, 2}));
}

TEST(Frontier, IsEmptyWithoutPoints) { EXPECT_TRUE(FrontierOf({}).empty()); }

TEST(Frontier, OfEqualPointsIsAllOfThem) {
  const std::vector<FrontierPoint> points(3, {.cost = 2, .value = 0.5});
  EXPECT_EQ(FrontierOf(points), (std::vector<size_t>{0, 1, 2}));
}

TEST(Frontier, HasTheMoreValuableOfEqualCostAndTheCheaperOfEqualValue) {
  const std::vector<FrontierPoint> cost = {{.cost = 1, .value = 0.3}, {.cost = 1, .value = 0.4}};
  EXPECT_EQ(FrontierOf(cost), (std::vector<size_t>{1}));
  const std::vector<FrontierPoint> value = {{.cost = 2, .value = 0.4}, {.cost = 1, .value = 0.4}};
  EXPECT_EQ(FrontierOf(value), (std::vector<size_t>{1}));
}

// Few values, so that many are equal.
std::vector<FrontierPoint> RandomPoints(SeededRandom& random) {
  std::vector<FrontierPoint> points(static_cast<size_t>(random.Below(12)));
  for (FrontierPoint& point : points) {
    point = {.cost = 0.5 * static_cast<double>(random.Below(6)), .value = 0.1 * static_cast<double>(random.Below(6))};
  }
  return points;
}

std::set<size_t> NotDominated(const std::vector<FrontierPoint>& points) {
  std::set<size_t> places;
  for (size_t i = 0; i < points.size(); ++i) {
    const auto beats = [&](const FrontierPoint& other) { return Dominates(other, points[i]); };
    if (std::none_of(points.begin(), points.end(), beats)) places.insert(i);
  }
  return places;
}

TEST(Frontier, MatchesTheDefinitionInRandomInstances) {
  SeededRandom random(7);
  for (int instance = 0; instance < 2000; ++instance) {
    const std::vector<FrontierPoint> points = RandomPoints(random);
    const std::vector<size_t> frontier = FrontierOf(points);
    ASSERT_EQ(std::set<size_t>(frontier.begin(), frontier.end()), NotDominated(points)) << instance;
    ASSERT_EQ(frontier.size(), NotDominated(points).size()) << "each once";
    for (size_t i = 1; i < frontier.size(); ++i) {
      const FrontierPoint &before = points[frontier[i - 1]], &point = points[frontier[i]];
      ASSERT_LE(before.cost, point.cost);
      ASSERT_LE(before.value, point.value) << "what costs more is right more often";
    }
  }
}

TEST(Frontier, DominationIsAStrictOrder) {
  SeededRandom random(3);
  for (int instance = 0; instance < 300; ++instance) {
    const std::vector<FrontierPoint> points = RandomPoints(random);
    for (const FrontierPoint& a : points) {
      EXPECT_FALSE(Dominates(a, a));
      for (const FrontierPoint& b : points) {
        EXPECT_FALSE(Dominates(a, b) && Dominates(b, a));
        for (const FrontierPoint& c : points) EXPECT_TRUE(!Dominates(a, b) || !Dominates(b, c) || Dominates(a, c));
      }
    }
  }
}

}  // namespace
}  // namespace tessera
