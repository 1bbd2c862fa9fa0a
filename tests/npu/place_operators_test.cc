#include "tessera/npu/modeled/place_operators.h"

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

double& Busy(OperatorCost& cost, Bound bound) { return cost.busy[static_cast<size_t>(bound)]; }

// Two operators: a product that reads beside it, and rows on the vector unit.
GraphCost TwoOperators() {
  OperatorCost product = {.seconds = 3e-6, .bound = Bound::kDma, .read_bytes = 4096};
  Busy(product, Bound::kDma) = 2.5e-6;
  Busy(product, Bound::kMatrix) = 1e-6;
  Busy(product, Bound::kCall) = 0.5e-6;
  OperatorCost rows = {.seconds = 2e-6, .bound = Bound::kVector};
  Busy(rows, Bound::kVector) = 2e-6;
  return {.seconds = 5e-6, .operators = {product, rows}};
}

TEST(PlaceOperators, HeaderExample) {
  VirtualClock clock;
  Timeline timeline({.clock = &clock});
  Graph graph;
  const BufferId x = graph.AddInput("x", 32), y = graph.AddScratch("y", 64), z = graph.AddOutput("z", 64);
  graph.Add(Linear{.x = x, .products = {{.weight = graph.AddMatrix({"ffn_up.weight", BlockFormat::kQ8_0, 64, 32}), .y = y}}});
  graph.Add(RmsNorm{.x = y, .weight = graph.AddVector("norm.weight", 64), .y = z, .epsilon = 1e-5f});
  const std::vector<std::string> labels = OperatorLabels(graph);
  EXPECT_EQ(labels, (std::vector<std::string>{"ffn_up.weight", "RmsNorm"}));
  const int64_t end_ns =
      PlaceOperators(TwoOperators(), /*begin_ns=*/clock.NowNanos(), timeline, {.labels = labels, .layer = 3, .rows = 32});
  EXPECT_EQ(end_ns, 5000);
  const TimelineWork& product = timeline.WorkOf(timeline.Events()[0]);
  EXPECT_EQ(product.name, "ffn_up.weight");
  EXPECT_EQ(product.layer, 3);
  EXPECT_EQ(product.rows, 32);
  EXPECT_EQ(product.bytes, 4096);
  EXPECT_EQ(product.bound, "dma");
}

TEST(PlaceOperators, EachPartIsBusyFromTheBeginOfItsOperatorOn) {
  Timeline timeline({});
  EXPECT_EQ(PlaceOperators(TwoOperators(), /*begin_ns=*/100, timeline, {.first = 7}), 5100);
  struct Span { Resource resource; int32_t detail; int64_t begin_ns, end_ns; };
  const std::vector<Span> expected = {{Resource::kNpu, 7, 100, 1100}, {Resource::kDma, 7, 100, 2600}, {Resource::kHvx, 8, 3100, 5100}};
  const std::vector<TimelineEvent> found = timeline.Events();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].zone, Zone::kOperator);
    EXPECT_EQ(found[i].resource, expected[i].resource) << i;
    EXPECT_EQ(found[i].detail, expected[i].detail) << i;
    EXPECT_EQ(found[i].begin_ns, expected[i].begin_ns) << i;
    EXPECT_EQ(found[i].end_ns, expected[i].end_ns) << i;
  }
}

// Times that no nanosecond divides: no part is booked twice, and nothing drifts.
TEST(PlaceOperators, RoundingLetsNoPartHaveTwoJobs) {
  GraphCost cost;
  for (int i = 0; i < 3000; ++i) {
    OperatorCost op = {.seconds = 1.0000000007e-6 / 3 * (1 + i % 7), .bound = Bound::kVector};
    Busy(op, Bound::kVector) = op.seconds;
    cost.operators.push_back(op);
    cost.seconds += op.seconds;
  }
  Timeline timeline({});
  const int64_t end_ns = PlaceOperators(cost, 0, timeline);
  std::map<Resource, int64_t> ends;
  for (const TimelineEvent& event : timeline.Events()) {
    EXPECT_GE(event.begin_ns, ends[event.resource]);
    ends[event.resource] = event.end_ns;
  }
  EXPECT_EQ(ends[Resource::kHvx], end_ns);
  EXPECT_NEAR(static_cast<double>(end_ns), cost.seconds * 1e9, 1);
}

}  // namespace
}  // namespace tessera
