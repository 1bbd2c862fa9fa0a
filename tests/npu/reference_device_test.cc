#include "tessera/npu/reference/reference_device.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/decoder_block.h"
#include "tessera/tests/fakes/graph_inputs.h"

namespace tessera {
namespace {

constexpr float kUntouched = -77.0f;  // What GraphInputs fills outputs with.

// Loads the graph on a device of its own, runs it once and returns the first output, which is external buffer `external`.
std::vector<float> RunOnce(const CompiledGraph& compiled, GraphInputs& inputs, int external, ThreadPool* pool = nullptr) {
  ReferenceDevice device(pool);
  const std::unique_ptr<LoadedGraph> graph = *device.Load(compiled);
  const absl::Status status = device.Run(*graph, inputs.arguments());
  EXPECT_TRUE(status.ok()) << status;
  return inputs.output(external);
}

void ExpectNear(const std::vector<float>& found, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << "at " << i;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

TEST(ReferenceDevice, HeaderExample) {
  const CompiledGraph compiled = *Compile(DecoderBlock({.embedding = true}), {});
  GraphInputs inputs(compiled, 40, /*kv_heads=*/2);
  inputs.SetRows({3, 1, 4});
  const RunArguments& arguments = inputs.arguments();
  ThreadPool pool(2);
  ReferenceDevice device(&pool);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device.Load(compiled));
    RETURN_IF_ERROR(device.Run(*graph, arguments));
    return absl::OkStatus();
  };
  EXPECT_TRUE(run().ok());
  EXPECT_NE(inputs.output(0)[0], kUntouched);
}

TEST(ReferenceDevice, EmbeddingTakesEachTokenFromItsTable) {
  Graph graph;
  const BufferId y = graph.AddOutput("y", 3);
  const WeightId low = graph.AddMatrix({"low", BlockFormat::kF32, 2, 3}),
                 high = graph.AddMatrix({"high", BlockFormat::kF32, 2, 3});
  graph.Add(Embedding{.table = low, .y = y, .scale = 2});
  graph.Add(Embedding{.table = high, .y = y, .first_token = 2, .scale = 0.5f});
  const CompiledGraph compiled = *Compile(graph, {});
  GraphInputs inputs(compiled, 41);
  inputs.SetRows({3, 0, 4});  // Token 4 is in neither.
  const std::vector<float> found = RunOnce(compiled, inputs, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i], 0.5f * inputs.weight(high)[3 + i]);
    EXPECT_EQ(found[3 + i], 2 * inputs.weight(low)[i]);
    EXPECT_EQ(found[6 + i], kUntouched);
  }
}

// y = x + gelu(norm(x)) * (norm(x) + bias), row by row: RmsNorm in groups, AddBias, GatedActivation, Add.
TEST(ReferenceDevice, RowOperatorsAreChainedAsTheGraphSays) {
  Graph graph;
  const BufferId x = graph.AddInput("x", 8), normed = graph.AddScratch("normed", 8), biased = graph.AddScratch("biased", 8);
  const BufferId gated = graph.AddScratch("gated", 8), y = graph.AddOutput("y", 8);
  const WeightId norm = graph.AddVector("norm", 4), bias = graph.AddVector("bias", 8);
  graph.Add(RmsNorm{.x = x, .weight = norm, .y = normed, .epsilon = 0.1f, .groups = 2});
  graph.Add(AddBias{.x = normed, .weight = bias, .y = biased});
  graph.Add(GatedActivation{.gate = normed, .up = biased, .y = gated, .activation = Activation::kGeluTanh});
  graph.Add(Add{.a = x, .b = gated, .y = y});
  const CompiledGraph compiled = *Compile(graph, {});
  GraphInputs inputs(compiled, 42);
  inputs.SetRows({5, 6});
  const std::vector<float> in = inputs.output(0), found = RunOnce(compiled, inputs, 1);
  for (int i = 0; i < 16; ++i) {
    double squares = 0;
    for (int j = i / 4 * 4; j < i / 4 * 4 + 4; ++j) squares += double{in[j]} * in[j];
    const double n = in[i] / std::sqrt(squares / 4 + 0.1f) * inputs.weight(norm)[i % 4];
    const double gelu = n / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (n + 0.044715 * n * n * n)));
    EXPECT_NEAR(found[i], in[i] + gelu * (n + inputs.weight(bias)[i % 8]), 1e-6);
  }
}

struct ProductGraph {
  Graph graph;
  BufferId x = graph.AddInput("x", 6), y = graph.AddOutput("y", 5);
  WeightId right = graph.AddMatrix({"right", BlockFormat::kF32, 3, 6}), left = graph.AddMatrix({"left", BlockFormat::kF32, 2, 6});
  ProductGraph() {
    graph.adapters = 2;
    graph.Add(Linear{.x = x, .products = {{.weight = right, .y = y, .first_column = 2, .adapter = 1}, {.weight = left, .y = y}}});
  }
};

double Dot(const float* a, const float* b, int size) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += double{a[i]} * b[i];
  return sum;
}

TEST(ReferenceDevice, ProductsFillTheirColumns) {
  const ProductGraph parts;
  const CompiledGraph compiled = *Compile(parts.graph, {});
  for (const std::vector<int32_t>& rows : std::vector<std::vector<int32_t>>{{1}, {1, 2, 3}}) {
    GraphInputs inputs(compiled, 43);
    inputs.SetRows(rows);
    const std::vector<float> x = inputs.output(0), found = RunOnce(compiled, inputs, 1);
    for (size_t r = 0; r < rows.size(); ++r) {
      for (int o = 0; o < 5; ++o) {
        const float* w = o < 2 ? inputs.weight(parts.left) + 6 * o : inputs.weight(parts.right) + 6 * (o - 2);
        EXPECT_NEAR(found[r * 5 + o], Dot(w, &x[r * 6], 6), 1e-6);
      }
    }
  }
}

struct SeenProduct {
  std::string name;
  const std::byte* bytes;
  std::vector<float> x;
  float left, right;        // The first number of each product's columns, as it is then.
  std::thread::id thread;
};

TEST(ReferenceDevice, AnObserverSeesTheInputsOfEachProductBeforeTheProduct) {
  const ProductGraph parts;
  const CompiledGraph compiled = *Compile(parts.graph, {});
  GraphInputs inputs(compiled, 43);
  inputs.SetRows({1, 2, 3});
  const std::vector<float> plain = RunOnce(compiled, inputs, 1);
  std::fill(inputs.output(1).begin(), inputs.output(1).end(), kUntouched);
  std::vector<SeenProduct> seen;
  ThreadPool pool(2);
  ReferenceDevice device(&pool, {.observe = [&](const ReferenceDevice::ProductInput& input) {
    SeenProduct product = {input.weight.spec.name, input.bytes.data(), {}, inputs.output(1)[0], inputs.output(1)[2],
                           std::this_thread::get_id()};
    for (int64_t r = 0; r < input.x.rows(); ++r) product.x.insert(product.x.end(), input.x.row(r), input.x.row(r) + input.x.columns());
    seen.push_back(std::move(product));
  }});
  const std::unique_ptr<LoadedGraph> graph = *device.Load(compiled);
  ASSERT_TRUE(device.Run(*graph, inputs.arguments()).ok());
  ExpectNear(inputs.output(1), plain, 1e-6);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].name, "right");
  EXPECT_EQ(seen[1].name, "left");
  EXPECT_EQ(seen[0].bytes, inputs.arguments().weights[static_cast<size_t>(parts.right)].data());
  EXPECT_EQ(seen[1].bytes, inputs.arguments().weights[static_cast<size_t>(parts.left)].data());
  for (const SeenProduct& product : seen) {
    EXPECT_EQ(product.x, inputs.output(0)) << product.name;
    EXPECT_EQ(product.left, kUntouched) << product.name;
    EXPECT_EQ(product.thread, std::this_thread::get_id()) << product.name;
  }
  EXPECT_EQ(seen[0].right, kUntouched);
  EXPECT_NE(seen[1].right, kUntouched) << "it comes first";
}

TEST(ReferenceDevice, AnObserverSeesNothingOfARunWithoutRowsOrWithWrongArguments) {
  const CompiledGraph compiled = *Compile(ProductGraph().graph, {});
  GraphInputs inputs(compiled, 43);
  int seen = 0;
  ReferenceDevice device(nullptr, {.observe = [&](const ReferenceDevice::ProductInput&) { ++seen; }});
  const std::unique_ptr<LoadedGraph> graph = *device.Load(compiled);
  inputs.SetRows({});
  EXPECT_TRUE(device.Run(*graph, inputs.arguments()).ok());
  inputs.SetRows({1});
  inputs.arguments().weights = {};
  EXPECT_FALSE(device.Run(*graph, inputs.arguments()).ok());
  EXPECT_EQ(seen, 0);
}

TEST(ReferenceDevice, AnAdapterChangesItsRowsAndItsColumnsOnly) {
  const ProductGraph parts;
  const CompiledGraph compiled = *Compile(parts.graph, {});
  GraphInputs inputs(compiled, 44);
  inputs.SetRows({1, 2, 3});
  const std::vector<float> x = inputs.output(0), plain = RunOnce(compiled, inputs, 1);
  SeededRandom random(45);
  std::vector<float> a(2 * 6), b(2 * 5);  // B covers all five columns, the product three of them.
  for (std::vector<float>* values : {&a, &b})
    std::generate(values->begin(), values->end(), [&] { return random.Uniform(-1.0f, 1.0f); });
  const AdapterProduct bound[] = {{}, {.a = a.data(), .b = b.data(), .rank = 2, .scale = 3}}, unbound[2] = {};
  const AdapterProduct* const adapters[] = {nullptr, bound, unbound};
  inputs.arguments().adapters = adapters;
  const std::vector<float> found = RunOnce(compiled, inputs, 1);
  for (int i = 0; i < 15; ++i) {
    double expected = plain[i];
    const int o = i % 5 - 2;
    if (i / 5 == 1 && o >= 0) expected += 3 * (b[2 + o] * Dot(&a[0], &x[6], 6) + b[5 + 2 + o] * Dot(&a[6], &x[6], 6));
    if (i / 5 == 1) EXPECT_NEAR(found[i], expected, 1e-5);
    else EXPECT_EQ(found[i], plain[i]);
  }
}

TEST(ReferenceDevice, RopeTurnsEachRowByItsOwnAngles) {
  for (const RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
    Graph graph;
    const BufferId x = graph.AddInput("x", 40), y = graph.AddOutput("y", 40);
    graph.Add(Rope{.x = x, .y = y, .heads = 2, .dimensions = 16, .pairs = pairs});
    const CompiledGraph compiled = *Compile(graph, {});
    GraphInputs inputs(compiled, 46);
    inputs.SetRows({1, 2}, /*first_position=*/5);
    const std::vector<float> in = inputs.output(0), found = RunOnce(compiled, inputs, 1);
    for (int r = 0; r < 2; ++r) {
      for (int head = 0; head < 2; ++head) {
        const int at = r * 40 + head * 20;
        for (int i = 0; i < 8; ++i) {
          const int first = at + (pairs == RopePairs::kHalves ? i : 2 * i),
                    second = first + (pairs == RopePairs::kHalves ? 8 : 1);
          const float c = inputs.cos_sin(r)[2 * i], s = inputs.cos_sin(r)[2 * i + 1];
          EXPECT_NEAR(found[first], in[first] * c - in[second] * s, 1e-6);
          EXPECT_NEAR(found[second], in[first] * s + in[second] * c, 1e-6);
        }
        for (int i = 16; i < 20; ++i) EXPECT_EQ(found[at + i], in[at + i]);
      }
    }
  }
}

// --- Attention: inputs key, value and query, two key/value heads of size 4, four query heads.

struct AttentionGraph {
  Graph graph;
  BufferId k = graph.AddInput("k", 8), v = graph.AddInput("v", 8), q = graph.AddInput("q", 16), y = graph.AddOutput("y", 16);
  explicit AttentionGraph(int window) {
    graph.Add(StoreKeyValue{.key = k, .value = v, .layer = 1});
    graph.Add(Attention{.query = q, .y = y, .layer = 1, .heads = 4, .scale = 0.9f, .window = window});
  }
};

// Row `row` attends to the rows of this run named in `positions`.
std::vector<double> ExpectedAttention(GraphInputs& inputs, int row, const std::vector<int>& positions) {
  std::vector<double> y(16, 0.0);
  for (int head = 0; head < 4; ++head) {
    double total = 0;
    for (const int p : positions) {
      const int kv = p * 8 + head / 2 * 4;
      const double weight = std::exp(0.9 * Dot(&inputs.output(2)[row * 16 + head * 4], &inputs.output(0)[kv], 4));
      total += weight;
      for (int d = 0; d < 4; ++d) y[head * 4 + d] += weight * inputs.output(1)[kv + d];
    }
    for (int d = 0; d < 4; ++d) y[head * 4 + d] /= total;
  }
  return y;
}

void ExpectRow(const std::vector<float>& found, int row, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[row * expected.size() + i], expected[i], 1e-6) << "row " << row;
}

TEST(ReferenceDevice, AttentionFollowsThePathThroughScatteredSlots) {
  const CompiledGraph compiled = *Compile(AttentionGraph(/*window=*/0).graph, {});
  GraphInputs inputs(compiled, 47, /*kv_heads=*/2, /*head_size=*/4);
  inputs.SetRows({1, 2, 3, 4});
  const int32_t slots[] = {20, 7, 8, 63};
  for (int r = 0; r < 4; ++r) inputs.SetSlot(r, slots[r]);
  inputs.SetPath(0, {{20, 1}});
  inputs.SetPath(1, {{20, 1}, {7, 1}});
  inputs.SetPath(2, {{20, 1}, {7, 2}});            // Rows 2 and 3 are two children of row 1.
  inputs.SetPath(3, {{20, 1}, {7, 1}, {63, 1}});
  const std::vector<float> found = RunOnce(compiled, inputs, 3);
  ExpectRow(found, 0, ExpectedAttention(inputs, 0, {0}));
  ExpectRow(found, 1, ExpectedAttention(inputs, 1, {0, 1}));
  ExpectRow(found, 2, ExpectedAttention(inputs, 2, {0, 1, 2}));
  ExpectRow(found, 3, ExpectedAttention(inputs, 3, {0, 1, 3}));
}

TEST(ReferenceDevice, AWindowSeesTheLastPositionsOnly) {
  const CompiledGraph compiled = *Compile(AttentionGraph(/*window=*/2).graph, {});
  GraphInputs inputs(compiled, 48, /*kv_heads=*/2, /*head_size=*/4);
  inputs.SetRows({1, 2, 3, 4});
  const std::vector<float> found = RunOnce(compiled, inputs, 3);
  ExpectRow(found, 0, ExpectedAttention(inputs, 0, {0}));
  ExpectRow(found, 1, ExpectedAttention(inputs, 1, {0, 1}));
  ExpectRow(found, 2, ExpectedAttention(inputs, 2, {1, 2}));
  ExpectRow(found, 3, ExpectedAttention(inputs, 3, {2, 3}));
}

// --- A whole block.

constexpr DecoderShape kBlock = {.layers = 2, .window = 3, .embedding = true};

TEST(ReferenceDevice, RowsTogetherAreCloseToRowsOneByOne) {
  const CompiledGraph compiled = *Compile(DecoderBlock(kBlock), {});
  const std::vector<int32_t> tokens = {3, 1, 4, 1, 5, 39, 2, 6};
  GraphInputs together(compiled, 49, /*kv_heads=*/2), alone(compiled, 49, /*kv_heads=*/2);
  together.SetRows(tokens);
  const std::vector<float> all = RunOnce(compiled, together, 0);
  std::vector<float> joined;
  for (int r = 0; r < static_cast<int>(tokens.size()); ++r) {
    alone.SetRows({tokens[r]}, /*first_position=*/r);
    const std::vector<float> row = RunOnce(compiled, alone, 0);
    joined.insert(joined.end(), row.begin(), row.end());
  }
  ExpectNear(joined, all, 1e-4);
  EXPECT_GT(LargestDifference({all.begin() + 64, all.begin() + 128}, {all.begin() + 192, all.begin() + 256}), 0.1)
      << "the same token at another position must see something else";
}

TEST(ReferenceDevice, ThreadsDoNotChangeTheResult) {
  const CompiledGraph compiled = *Compile(DecoderBlock(kBlock), {});
  GraphInputs inputs(compiled, 50, /*kv_heads=*/2);
  inputs.SetRows({3, 1, 4, 1, 5});
  const std::vector<float> alone = RunOnce(compiled, inputs, 0);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    ExpectNear(RunOnce(compiled, inputs, 0, &pool), alone, 1e-4);
  }
}

TEST(ReferenceDevice, GraphsLoadedTogetherDoNotDisturbOneAnother) {
  const CompiledGraph block = *Compile(DecoderBlock(kBlock), {}), product = *Compile(ProductGraph().graph, {});
  GraphInputs block_inputs(block, 51, /*kv_heads=*/2), product_inputs(product, 52);
  block_inputs.SetRows({1, 2});
  product_inputs.SetRows({3, 4, 5});
  ReferenceDevice device;
  const std::unique_ptr<LoadedGraph> first = *device.Load(block), second = *device.Load(product);
  ASSERT_TRUE(device.Run(*first, block_inputs.arguments()).ok());
  ASSERT_TRUE(device.Run(*second, product_inputs.arguments()).ok());
  const std::vector<float> before = block_inputs.output(0), products = product_inputs.output(1);
  ASSERT_TRUE(device.Run(*first, block_inputs.arguments()).ok());
  EXPECT_EQ(block_inputs.output(0), before);
  EXPECT_EQ(RunOnce(product, product_inputs, 1), products);
}

TEST(ReferenceDevice, NothingRunsOnWrongArguments) {
  const CompiledGraph compiled = *Compile(DecoderBlock(kBlock), {});
  GraphInputs inputs(compiled, 53, /*kv_heads=*/2);
  inputs.SetRows({1, 2});
  ReferenceDevice device;
  const std::unique_ptr<LoadedGraph> graph = *device.Load(compiled);
  const KvView kv = inputs.arguments().kv;
  inputs.arguments().kv =
      KvView(kv.Keys<std::byte>(0, 0), kv.Values<std::byte>(0, 0), KvFormat::kHalf, 2, 16, GraphInputs::kSlots);
  EXPECT_EQ(device.Run(*graph, inputs.arguments()).code(), absl::StatusCode::kInvalidArgument);
  inputs.arguments().kv = kv;
  inputs.SetSlot(1, -1);
  EXPECT_EQ(device.Run(*graph, inputs.arguments()).code(), absl::StatusCode::kInvalidArgument);
  for (const float value : inputs.output(0)) ASSERT_EQ(value, kUntouched);
}

TEST(ReferenceDevice, NoRowsAreNoWork) {
  const CompiledGraph compiled = *Compile(DecoderBlock(kBlock), {});
  GraphInputs inputs(compiled, 54, /*kv_heads=*/2);
  inputs.SetRows({});
  ReferenceDevice device;
  const std::unique_ptr<LoadedGraph> graph = *device.Load(compiled);
  EXPECT_TRUE(device.Run(*graph, inputs.arguments()).ok());
}

}  // namespace
}  // namespace tessera
