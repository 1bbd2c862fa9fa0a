// What graphs cost on a phone before and after the passes of npu/graph_passes.h.
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/fold_biases.h"
#include "tessera/npu/graph_passes.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/npu/modeled/operator_cost.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/varied_block.h"

namespace tessera {
namespace {

constexpr TileScheme kChannel = {TileCode::kInt4, TileScales::kChannel, TileInput::kInt16};
constexpr int64_t kWidth = 2048, kHead = 64, kRows = 128, kContext = 2048;

DeviceProfile Phone() { return Must(LoadDeviceProfile("8gen3")); }
ExecutionStyle Style(const char* name) { return Must(ExecutionStyleByName(name)); }

// Norm, projections with a bias on queries, and attention; each pass finds something to do.
Graph Layer(int heads, int kv_heads, int window = 0) {
  Graph graph;
  graph.adapters = 1;
  const int64_t queries = heads * kHead, keys = kv_heads * kHead;
  const BufferId x = graph.AddInput("hidden", kWidth), normed = graph.AddScratch("normed", kWidth);
  graph.Add(RmsNorm{.x = x, .weight = graph.AddVector("norm", kWidth), .y = normed, .epsilon = 1e-5f});
  const BufferId q = graph.AddScratch("q", queries), k = graph.AddScratch("k", keys), v = graph.AddScratch("v", keys);
  const WeightId half[] = {graph.AddMatrix({"q.0", BlockFormat::kQ4_0, queries / 2, kWidth}, kChannel),
                           graph.AddMatrix({"q.1", BlockFormat::kQ4_0, queries / 2, kWidth}, kChannel)};
  graph.Add(Linear{.x = normed, .products = {{.weight = half[0], .y = q, .adapter = 0},
                                             {.weight = half[1], .y = q, .first_column = queries / 2, .adapter = 0},
                                             {.weight = graph.AddMatrix({"k", BlockFormat::kQ4_0, keys, kWidth}, kChannel), .y = k},
                                             {.weight = graph.AddMatrix({"v", BlockFormat::kQ4_0, keys, kWidth}, kChannel), .y = v}}});
  const BufferId biased = graph.AddScratch("biased", queries);
  graph.Add(AddBias{.x = q, .weight = graph.AddVector("q.bias", queries), .y = biased});
  graph.Add(StoreKeyValue{.key = k, .value = v});
  graph.Add(Attention{.query = biased, .y = graph.AddOutput("y", queries), .heads = heads, .scale = 0.125f, .window = window});
  return FoldBiases(std::move(graph));
}

GraphCost Cost(const Graph& graph, const char* style, int64_t rows = kRows) {
  const DeviceProfile profile = Phone();
  const int64_t positions = kContext;
  return Must(CostOfGraph(graph, {.profile = profile, .style = Style(style), .rows = rows, .positions = positions, .adapter_rank = 16}));
}

// The form with all but this done.
GraphForm Without(bool GraphForm::*done) {
  GraphForm form;
  form.*done = false;
  return form;
}

// What a pass saves, done last.
double SavedBy(Graph graph, bool GraphForm::*done, const char* style) {
  const double with = Cost(graph, style).seconds;
  graph.form = Without(done);
  return Cost(graph, style).seconds - with;
}

// So many operators, and so many numbers written by the vector unit, by the profile.
double Seconds(int operators, int64_t numbers) {
  const DeviceProfile profile = Phone();
  return operators * profile.operator_seconds +
         static_cast<double>(numbers) / 64 * profile.row_integer_packets / (profile.vector_threads * profile.vector_hertz);
}

// By hand: 32 query heads and 8 of keys and values, 64 numbers each.
TEST(GraphFormCost, EachPassSavesItsOperatorsAndNumbers) {
  const Graph graph = Layer(32, 8);
  const int64_t queries = 2048, keys = 512;
  EXPECT_NEAR(SavedBy(graph, &GraphForm::split_heads, "static"), Seconds(4, (2 * queries + 2 * keys) * kRows), 1e-12);
  EXPECT_NEAR(SavedBy(graph, &GraphForm::convolutions, "static"), Seconds(2, (kWidth + queries + 2 * keys) * kRows), 1e-12);
  EXPECT_NEAR(SavedBy(graph, &GraphForm::folded_scalars, "static"), Seconds(3, (kWidth + 2 * queries) * kRows), 1e-12)
      << "norm, scale, and one bias of two products";
  EXPECT_EQ(SavedBy(graph, &GraphForm::split_adapters, "static"), 0);
  EXPECT_NEAR(SavedBy(graph, &GraphForm::transposed_keys, "static"), Seconds(1, keys * kContext), 1e-12);
}

TEST(GraphFormCost, AWindowsKeysAreTransposedAlone) {
  EXPECT_NEAR(SavedBy(Layer(32, 8, /*window=*/512), &GraphForm::transposed_keys, "static"), Seconds(1, 512 * 512), 1e-12);
}

// Nothing is reordered where there is one head.
TEST(GraphFormCost, OneHeadNeedsNoOrder) {
  EXPECT_EQ(SavedBy(Layer(1, 1), &GraphForm::split_heads, "static"), 0);
  EXPECT_NEAR(SavedBy(Layer(4, 1), &GraphForm::split_heads, "static"), Seconds(2, 2 * 4 * kHead * kRows), 1e-12);
}

// Attention of the CPU takes keys and heads as they lie.
TEST(GraphFormCost, CpuOperatorsHaveNoForm) {
  const Graph graph = Layer(32, 8);
  EXPECT_EQ(SavedBy(graph, &GraphForm::split_heads, "unshared"), 0);
  EXPECT_EQ(SavedBy(graph, &GraphForm::transposed_keys, "unshared"), 0);
  EXPECT_NEAR(SavedBy(graph, &GraphForm::folded_scalars, "unshared"), Seconds(2, 2 * kWidth * kRows), 1e-12) << "norm and bias";
  Graph head;
  const BufferId x = head.AddInput("x", 64);
  head.Add(Linear{.x = x, .products = {{.weight = head.AddMatrix({"head", BlockFormat::kQ8_0, 96, 64}), .y = head.AddOutput("y", 96)}}});
  EXPECT_EQ(SavedBy(head, &GraphForm::convolutions, "unshared"), 0);
  EXPECT_GT(SavedBy(head, &GraphForm::convolutions, "static"), 0);
}

TEST(GraphFormCost, NoPassMakesAGraphDearerOrAPartBusierThanItsOperator) {
  for (const char* style : {"operators", "static", "unshared"}) {
    for (const int64_t rows : {1, 31, 128, 1024}) {
      Graph graph = Untransformed(Layer(32, 8));
      double before = Cost(graph, style, rows).seconds;
      const double untransformed = before;
      for (const GraphPass& pass : GraphPasses()) {
        graph = pass.apply(std::move(graph));
        const GraphCost cost = Cost(graph, style, rows);
        EXPECT_LE(cost.seconds, before) << style << " " << rows << " " << pass.name;
        before = cost.seconds;
        for (const OperatorCost& op : cost.operators) {
          for (const double busy : op.busy) EXPECT_LE(busy, op.seconds * (1 + 1e-9)) << style << " " << rows << " " << pass.name;
        }
      }
      EXPECT_EQ(before, Cost(Layer(32, 8), style, rows).seconds);
      EXPECT_EQ(before < untransformed, Style(style).static_graphs) << style << ": by mailbox there is no form";
    }
  }
}

TEST(GraphFormCost, AModeledPhonesClockKnowsTheFormAndItsBitsDoNot) {
  const VariedShape shape = {.width = 70, .inner = 150, .heads = 6, .kv_heads = 2, .head_size = 20, .rope_dimensions = 20, .bias = true,
                             .tiles = {kChannel}};
  const PairedRun::Options options = {.kv_heads = 2, .head_size = 20};
  Graph graph = Untransformed(VariedBlock(shape));
  ThreadPool pool(2);
  HmxDevice numbers(pool, {});
  std::vector<int64_t> times;
  std::vector<RowOutputs> rows;
  for (size_t passes = 0;; ++passes) {
    VirtualClock clock;
    ModeledDevice device(numbers, clock, {.profile = Phone(), .style = Style("static"), .context = 1024});
    rows.push_back(PairedRun(graph, options).On(device, Chain(9)));
    times.push_back(clock.NowNanos());
    if (passes == GraphPasses().size()) break;
    graph = GraphPasses()[passes].apply(std::move(graph));
  }
  for (size_t i = 1; i < times.size(); ++i) {
    const bool saves = GraphPasses()[i - 1].finds(graph);   // No adapters.
    EXPECT_EQ(times[i] < times[i - 1], saves) << GraphPasses()[i - 1].name;
    EXPECT_LE(times[i], times[i - 1]);
    for (size_t r = 0; r < rows[0].size(); ++r) EXPECT_TRUE(SameBits(rows[i][r], rows[0][r])) << "row " << r;
  }
}

}  // namespace
}  // namespace tessera
