#include "tessera/npu/graph_schedule.h"

#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/graph_store.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/decoder_block.h"

namespace tessera {
namespace {

using Costs = std::vector<std::vector<LoadCost>>;

TEST(GraphSchedule, HeaderExample) {
  ReferenceDevice device;
  const auto graph = std::make_shared<const CompiledGraph>(*Compile(DecoderBlock({}), {}));
  GraphStore store(device, {{graph}});
  const Costs costs = store.Costs();
  const std::vector<ResidentGraph> loaded = {{{1, 0}}, {{3, 0}}, {{2, 0}}};
  const auto carry = [&]() -> absl::Status {
    ResidencyPlan plan = PlanResidency(costs, device.limits());
    return store.Carry(plan);
  };
  EXPECT_EQ(carry(), absl::OkStatus());
  int gone = NeededLast(loaded, /*next_block=*/3);
  EXPECT_EQ(loaded[gone].id, (GraphId{2, 0}));
}

TEST(GraphSchedule, GraphsThatFitStay) {
  const Costs costs = {{{.bytes = 10}, {.bytes = 30}}, {{.bytes = 20}}, {{.bytes = 40}}};
  const std::vector<GraphId> all = {{0, 0}, {0, 1}, {1, 0}, {2, 0}};
  EXPECT_EQ(PlanResidency(costs, {}).resident, all);
  EXPECT_EQ(PlanResidency(costs, {.bytes = 100}).resident, all);
}

TEST(GraphSchedule, WhereNotAllFitTheFirstNeededGraphsStay) {
  const Costs costs = {{{.bytes = 10}, {.bytes = 30}}, {{.bytes = 20}}, {{.bytes = 40}}};
  EXPECT_EQ(PlanResidency(costs, {.graphs = 2}).resident, (std::vector<GraphId>{{0, 0}, {0, 1}}));
  EXPECT_EQ(PlanResidency(costs, {.bytes = 39}).resident, (std::vector<GraphId>{{0, 0}, {1, 0}}));
  EXPECT_EQ(PlanResidency(costs, {.graphs = 2}).limits.graphs, 2);
  EXPECT_TRUE(PlanResidency(costs, {.graphs = 0}).resident.empty());
  EXPECT_TRUE(PlanResidency(costs, {.bytes = 9}).resident.empty());
  EXPECT_TRUE(PlanResidency({}, {}).resident.empty());
}

TEST(GraphSchedule, TheBlockThatComesLastGoes) {
  const std::vector<ResidentGraph> loaded = {{{0, 0}}, {{4, 1}}, {{7, 0}}};
  EXPECT_EQ(NeededLast(loaded, 0), 2);
  EXPECT_EQ(NeededLast(loaded, 3), 0);  // 4, 7, and in the next pass 0.
  EXPECT_EQ(NeededLast(loaded, 5), 1);
  EXPECT_EQ(NeededLast(loaded, 8), 2);
}

TEST(GraphSchedule, AVariantThatIsNoLongerUsedGoesFirst) {
  const std::vector<ResidentGraph> loaded = {{{0, 0}, true}, {{4, 1}}, {{7, 0}}};
  EXPECT_EQ(NeededLast(loaded, 0), 0);
  EXPECT_EQ(NeededLast(loaded, 5), 0);
}

}  // namespace
}  // namespace tessera
