#include "tessera/npu/graph_store.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/decoder_block.h"

namespace tessera {
namespace {

// Says what is loaded and unloaded. A graph's name is its width; it costs as many bytes.
class ListingDevice : public Device {
 public:
  absl::string_view name() const override { return "listing"; }
  WeightEncoding weight_encoding() const override { return WeightEncoding::kPacked; }
  KvFormat kv_format() const override { return KvFormat::kHalf; }
  RowPolicy row_policy() const override { return RowPolicy::kExact; }
  LoadCost CostOf(const CompiledGraph& graph) const override { return {.bytes = Width(graph)}; }
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const>, int) const override { return 0; }
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override {
    if (fails) return absl::UnavailableError("no graph");
    return std::make_unique<Listed>(*this, Width(graph), graph.row_capacity);
  }
  absl::Status Submit(LoadedGraph& graph, const RunArguments&) override {
    absl::StrAppend(&list, " run ", static_cast<Listed&>(graph).name);
    return absl::OkStatus();
  }
  absl::Status Wait() override {
    list += " wait";
    return absl::OkStatus();
  }
  std::string Take() { return std::exchange(list, ""); }

  std::string list;
  bool fails = false;

 private:
  struct Listed : LoadedGraph {
    Listed(ListingDevice& its_device, int64_t bytes, int rows)
        : device(its_device), name(absl::StrCat(bytes, "x", rows)), row_count(rows) {
      absl::StrAppend(&device.list, " +", name);
    }
    ~Listed() override { absl::StrAppend(&device.list, " -", name); }
    int64_t bytes() const override { return 0; }
    int rows() const override { return row_count; }
    ListingDevice& device;
    const std::string name;
    const int row_count;
  };
  static int64_t Width(const CompiledGraph& graph) { return graph.graph.buffers[0].columns; }
};

std::shared_ptr<const CompiledGraph> GraphOf(int64_t width, int rows) {
  Graph graph;
  const BufferId x = graph.AddInput("x", width);
  graph.Add(Add{.a = x, .b = x, .y = graph.AddOutput("y", width)});
  return std::make_shared<const CompiledGraph>(*Compile(std::move(graph), {.row_capacity = rows}));
}

// Blocks 0 to 4, of 10 to 14 bytes; block 4 for 1 row and for 8.
std::vector<BlockVariants> FiveBlocks() {
  return {{GraphOf(10, 8)}, {GraphOf(11, 8)}, {GraphOf(12, 8)}, {GraphOf(13, 8)}, {GraphOf(14, 1), GraphOf(15, 8)}};
}

TEST(GraphStore, HeaderExample) {
  const auto head_of_1_row = GraphOf(16, 1), head_of_64_rows = GraphOf(16, 64), norm = GraphOf(8, 64);
  ReferenceDevice device;
  const int rows = 2;
  std::vector<float> x(rows * 16, 1.5f), y(rows * 16);
  RunArguments arguments = {.rows = rows, .buffers = {{x.data(), 16}, {y.data(), 16}}};
  const auto run = [&]() -> absl::Status {
    GraphStore store(device, {{head_of_1_row, head_of_64_rows}, {norm}});
    RETURN_IF_ERROR(store.Carry(PlanResidency(store.Costs(), device.limits())));
    RETURN_IF_ERROR(store.Run({.block = 0, .rows = rows}, arguments, /*next=*/{.block = 1, .rows = rows}));
    return absl::OkStatus();
  };
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(y, std::vector<float>(rows * 16, 3.0f));
}

TEST(GraphStore, APlanIsCarriedOutAndOtherGraphsAreUnloaded) {
  ListingDevice device;
  {
    GraphStore store(device, FiveBlocks());
    ASSERT_EQ(store.Carry({.resident = {{1, 0}, {4, 1}}, .limits = {}}), absl::OkStatus());
    EXPECT_EQ(device.Take(), " +11x8 +15x8");
    ASSERT_EQ(store.Carry({.resident = {{4, 1}, {2, 0}}, .limits = {}}), absl::OkStatus());
    EXPECT_EQ(device.Take(), " -11x8 +12x8");
  }
  EXPECT_EQ(device.Take(), " -12x8 -15x8");
}

// Graphs that are alike differ by their block, as where they hold its weights.
class BlockListingDevice : public ListingDevice {
 public:
  LoadCost CostOfBlock(int block, const CompiledGraph&) const override { return {.bytes = 100 + block}; }
  absl::StatusOr<std::unique_ptr<LoadedGraph>> LoadBlock(int block, const CompiledGraph& graph) override {
    absl::StrAppend(&list, " of ", block);
    return Load(graph);
  }
};

TEST(GraphStore, TheDeviceKnowsTheBlockOfEachLoad) {
  BlockListingDevice device;
  const std::shared_ptr<const CompiledGraph> alike = GraphOf(10, 8);
  GraphStore store(device, {{alike}, {GraphOf(11, 8)}, {alike}});
  EXPECT_EQ(store.Costs()[2][0].bytes, 102);
  ASSERT_EQ(store.Carry({.resident = {{0, 0}}, .limits = {.bytes = 210}}), absl::OkStatus());
  ASSERT_EQ(store.Switch(2, 8), absl::OkStatus());
  EXPECT_EQ(device.Take(), " of 0 +10x8 of 2 +10x8");
  ASSERT_EQ(store.Run({1, 8}, {}), absl::OkStatus());
  EXPECT_EQ(device.Take(), " -10x8 of 1 +11x8 run 11x8 wait") << "three of them are 303 bytes";
}

TEST(GraphStore, TheSmallestVariantThatHasTheRowsRuns) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  EXPECT_EQ((*store.For(4, 1))->rows(), 1);
  EXPECT_EQ((*store.For(4, 2))->rows(), 8);
  EXPECT_EQ((*store.For(4, 8))->rows(), 8);
  EXPECT_EQ(store.For(4, 9).status(),
            absl::InvalidArgumentError("rows of a graph of block 4: found 9, expected at most 8"));
}

// One graph runs, the other is the next.
TEST(GraphStore, WithRoomForTwoTheNextIsLoadedWhileOneRuns) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_EQ(store.Carry({.resident = {{0, 0}, {1, 0}}, .limits = {.graphs = 2}}), absl::OkStatus());
  device.Take();
  for (int pass = 0; pass < 2; ++pass) {
    for (int block = 0; block < 5; ++block) ASSERT_EQ(store.Run({block, 8}, {}, {(block + 1) % 5, 8}), absl::OkStatus());
  }
  EXPECT_EQ(device.Take(),
            " run 10x8 wait run 11x8 -10x8 +12x8 wait run 12x8 -11x8 +13x8 wait run 13x8 -12x8 +15x8 wait run 15x8 -13x8 +10x8 wait"
            " run 10x8 -15x8 +11x8 wait run 11x8 -10x8 +12x8 wait run 12x8 -11x8 +13x8 wait run 13x8 -12x8 +15x8 wait"
            " run 15x8 -13x8 +10x8 wait");
}

// What a pass needs last goes, so that most of the others stay: of five blocks two are loaded in each pass, not five.
TEST(GraphStore, WithRoomForThreeTheOneNeededLastGoes) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_EQ(store.Carry({.resident = {{0, 0}, {1, 0}, {2, 0}}, .limits = {.graphs = 3}}), absl::OkStatus());
  device.Take();
  for (int block = 0; block < 5; ++block) ASSERT_TRUE(store.For(block, 8).ok());
  EXPECT_EQ(device.Take(), " -12x8 +13x8 -13x8 +15x8");
  for (int block = 0; block < 5; ++block) ASSERT_TRUE(store.For(block, 8).ok());
  EXPECT_EQ(device.Take(), " -11x8 +12x8 -12x8 +13x8");
  for (int block = 0; block < 5; ++block) ASSERT_TRUE(store.For(block, 8).ok());
  EXPECT_EQ(device.Take(), " -10x8 +11x8 -11x8 +12x8");
}

TEST(GraphStore, AVariantThatIsNoLongerUsedGoesFirst) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_EQ(store.Carry({.resident = {{4, 0}}, .limits = {.bytes = 40}}), absl::OkStatus());
  ASSERT_TRUE(store.For(4, 1).ok());
  ASSERT_TRUE(store.For(4, 8).ok());
  device.Take();
  ASSERT_TRUE(store.For(0, 8).ok());  // 14 and 15 bytes are loaded.
  EXPECT_EQ(device.Take(), " +10x8");
  ASSERT_TRUE(store.For(1, 8).ok());
  EXPECT_EQ(device.Take(), " -14x1 +11x8");
}

TEST(GraphStore, AGraphThatIsLargerThanTheLimitsIsAnError) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_EQ(store.Carry({.resident = {{0, 0}}, .limits = {.bytes = 12}}), absl::OkStatus());
  EXPECT_EQ(store.For(3, 8).status(),
            absl::ResourceExhaustedError("graph of block 3 for 8 rows: found 13 bytes, expected at most 12 in 2147483647 graphs"));
  ASSERT_TRUE(store.For(0, 8).ok());
  EXPECT_EQ(store.Run({0, 8}, {}, {1, 8}), absl::OkStatus());  // There is no room beside the graph that runs.
  EXPECT_EQ(device.Take(), " +10x8 run 10x8 wait");
}

// Block 4's graph of 8 rows cannot be loaded ahead: that of 1 row, which is loaded, must not count as replaced.
TEST(GraphStore, ALoadAheadThatFailsUnloadsAndMarksNothingAndIsTriedAgainWhenNeeded) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_EQ(store.Carry({.resident = {{4, 0}}, .limits = {.bytes = 40}}), absl::OkStatus());
  ASSERT_TRUE(store.For(4, 1).ok());
  device.fails = true;
  EXPECT_EQ(store.Run({4, 1}, {}, {0, 1}), absl::OkStatus());
  device.fails = false;
  ASSERT_TRUE(store.For(0, 8).ok());
  device.fails = true;
  EXPECT_EQ(store.Run({0, 8}, {}, {4, 8}), absl::OkStatus());
  EXPECT_EQ(device.Take(), " +14x1 run 14x1 wait +10x8 run 10x8 wait") << "there is room, so nothing is unloaded";
  device.fails = false;
  ASSERT_TRUE(store.For(1, 8).ok());
  ASSERT_TRUE(store.For(2, 8).ok());  // 14, 10 and 11 bytes are loaded, and 12 more do not fit.
  EXPECT_EQ(device.Take(), " +11x8 -11x8 +12x8");
  device.fails = true;
  EXPECT_EQ(store.Run({4, 8}, {}, {0, 8}), absl::UnavailableError("no graph"));
}

TEST(GraphStore, ALoadAheadThatFailsIsNoErrorWhereTheNextTrySucceeds) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_EQ(store.Carry({.resident = {{0, 0}, {3, 0}}, .limits = {.graphs = 2}}), absl::OkStatus());
  device.Take();
  device.fails = true;
  EXPECT_EQ(store.Run({0, 8}, {}, {1, 8}), absl::OkStatus());
  device.fails = false;
  EXPECT_EQ(store.Run({1, 8}, {}), absl::OkStatus());
  EXPECT_EQ(device.Take(), " run 10x8 -13x8 wait +11x8 run 11x8 wait") << "what made room is not unloaded twice, and no other graph goes";
}

TEST(GraphStore, AGraphThatCannotBeLoadedFailsOneRunOnly) {
  ListingDevice device;
  GraphStore store(device, FiveBlocks());
  ASSERT_TRUE(store.For(0, 8).ok());
  device.fails = true;
  EXPECT_EQ(store.Run({0, 8}, {}, {1, 8}), absl::OkStatus());
  EXPECT_EQ(store.Run({1, 8}, {}, {2, 8}), absl::UnavailableError("no graph"));
  EXPECT_EQ(store.Carry({.resident = {{0, 0}, {2, 0}}, .limits = {}}), absl::UnavailableError("no graph"));
  device.fails = false;
  EXPECT_EQ(store.Run({1, 8}, {}, {2, 8}), absl::OkStatus());
  EXPECT_EQ(device.Take(), " +10x8 run 10x8 wait +11x8 run 11x8 +12x8 wait");
}

}  // namespace
}  // namespace tessera
