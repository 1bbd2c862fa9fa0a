#include "tessera/npu/hmx/hmx_device.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/npu/flash_attention.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/varied_block.h"

namespace tessera {
namespace {

constexpr TileScheme kFp16 = {.code = TileCode::kHalf}, kInt4 = {.code = TileCode::kInt4}, kInt8 = {.code = TileCode::kInt8};
constexpr TileScheme kChannel = {TileCode::kInt4, TileScales::kChannel, TileInput::kInt16};
constexpr TileScheme kCommon = {TileCode::kIq4Nl, TileScales::kCommonGroup};
constexpr TileScheme kTensor = {TileCode::kInt8, TileScales::kTensor, TileInput::kInt8};

TEST(HmxDevice, HeaderExample) {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 64), y = graph.AddOutput("up", 96);
  const WeightId up = graph.AddMatrix({"ffn_up.weight", BlockFormat::kF32, 96, 64}, TileScheme{});
  graph.Add(Linear{.x = x, .products = {{.weight = up, .y = y}}});
  PairedRun run(graph, {});
  ThreadPool pool(2);
  HmxDevice device(pool, {.kv_block = 512});
  EXPECT_EQ(run.On(device, Chain(3))[0].size(), 96u);
  EXPECT_EQ(device.name(), "npu");
}

struct Heads { int heads = 4; int kv_heads = 2; int head_size = 20; int window = 0; };

PairedRun NewRun(const Heads& heads, int slots) {
  Graph graph;
  const int64_t keys = heads.kv_heads * heads.head_size, queries = heads.heads * heads.head_size;
  const BufferId k = graph.AddInput("key", keys), v = graph.AddInput("value", keys), q = graph.AddInput("query", queries);
  graph.Add(StoreKeyValue{.key = k, .value = v});
  graph.Add(Attention{.query = q, .y = graph.AddOutput("y", queries), .heads = heads.heads, .scale = 0.7f, .window = heads.window});
  return PairedRun(graph, {.kv_heads = heads.kv_heads, .head_size = heads.head_size, .slots = slots, .row_capacity = slots});
}

std::vector<uint16_t> Halves(const std::vector<float>& numbers, int64_t begin, int64_t count) {
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  std::transform(numbers.begin() + begin, numbers.begin() + begin + count, halves.begin(), FloatToHalf);
  return halves;
}

// Attention of the last of a text's rows, by the definition.
std::vector<float> Defined(const PairedRun& run, const Heads& heads, const std::vector<int64_t>& text, int block,
                           HmxExp exp = HmxExp::kTable) {
  const int size = heads.head_size, end = static_cast<int>(text.size()), first = heads.window > 0 ? std::max(0, end - heads.window) : 0;
  const HmxAttention attention = {.block = block, .head_size = size, .scale = FloatToHalf(ScoreScale(0.7f)), .exp = exp};
  std::vector<float> y;
  for (int head = 0; head < heads.heads; ++head) {
    const int64_t shared = head / (heads.heads / heads.kv_heads) * size;
    std::vector<uint16_t> keys, values, out(static_cast<size_t>(size));
    for (const int64_t content : text) {
      const std::vector<uint16_t> key = Halves(run.Input(0, content), shared, size), value = Halves(run.Input(1, content), shared, size);
      keys.insert(keys.end(), key.begin(), key.end());
      values.insert(values.end(), value.begin(), value.end());
    }
    HmxAttend(attention, Halves(run.Input(2, text.back()), head * size, size).data(), keys.data(), values.data(), first, end, out.data());
    std::transform(out.begin(), out.end(), std::back_inserter(y), HalfToFloat);
  }
  return y;
}

std::vector<int64_t> Text(int length) {
  std::vector<int64_t> text(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) text[static_cast<size_t>(i)] = i;
  return text;
}

TEST(HmxDevice, AttentionHasTheBitsOfTheDefinition) {
  for (const Heads heads : {Heads{4, 2, 20, 0}, Heads{3, 1, 64, 0}, Heads{9, 3, 64, 37}, Heads{8, 1, 16, 16}, Heads{2, 2, 80, 5}}) {
    for (const int block : {16, 32, 512}) {
      PairedRun run = NewRun(heads, 112);
      for (const KernelPath path : SupportedKernelPaths()) {
        ThreadPool pool(3);
        HmxDevice device(pool, {.path = path, .kv_block = block});
        run.ForgetCaches();
        const RowOutputs found = run.On(device, Chain(100));
        for (int r = 0; r < 100; ++r) {
          ASSERT_TRUE(SameBits(found[r], Defined(run, heads, Text(r + 1), block)))
              << KernelPathName(path) << " row " << r << " block " << block << " window " << heads.window;
        }
        ASSERT_TRUE(SameBits(run.On(device, Chain(1, 99))[0], found[99])) << "alone";
      }
    }
  }
}

TEST(HmxDevice, ExactExpHasTheBitsOfTheDefinition) {
  const Heads heads = {9, 3, 64, 37};
  PairedRun run = NewRun(heads, 112);
  for (const KernelPath path : SupportedKernelPaths()) {
    ThreadPool pool(2);
    HmxDevice device(pool, {.path = path, .kv_block = 32, .exp = HmxExp::kExact});
    run.ForgetCaches();
    const RowOutputs found = run.On(device, Chain(100));
    int other = 0;
    for (int r = 0; r < 100; ++r) {
      ASSERT_TRUE(SameBits(found[r], Defined(run, heads, Text(r + 1), 32, HmxExp::kExact))) << KernelPathName(path) << " row " << r;
      other += !SameBits(found[r], Defined(run, heads, Text(r + 1), 32));
    }
    EXPECT_GT(other, 10);   // The table rounds S - m.
  }
}

// Branches leave a trunk within a block of keys, at its end and behind it; their slots lie anywhere.
TEST(HmxDevice, BranchesHaveTheBitsOfTextsOfTheirOwn) {
  for (const int window : {0, 9, 33}) {
    const Heads heads = {6, 2, 64, window};
    PairedRun run = NewRun(heads, 128);
    for (const KernelPath path : SupportedKernelPaths()) {
      ThreadPool pool(2);
      HmxDevice device(pool, {.path = path, .kv_block = 32});
      run.ForgetCaches();
      std::vector<TestRow> rows = Chain(40);
      std::vector<std::vector<int64_t>> texts;
      for (int r = 0; r < 40; ++r) texts.push_back(Text(r + 1));
      const auto branch = [&](int trunk, int slot, int length) {
        std::vector<int64_t> text = Text(trunk);
        std::vector<SlotRange> path_of = {{0, trunk}};
        for (int i = 0; i < length; ++i) {
          text.push_back(1000 * slot + i);
          path_of.push_back({slot + 3 * i, 1});
          rows.push_back({text.back(), path_of});
          texts.push_back(text);
        }
      };
      branch(40, 41, 4), branch(40, 54, 1), branch(31, 60, 6), branch(32, 79, 5), branch(7, 95, 9);
      const RowOutputs found = run.On(device, rows);
      for (size_t r = 0; r < rows.size(); ++r) {
        ASSERT_TRUE(SameBits(found[r], Defined(run, heads, texts[r], 32))) << KernelPathName(path) << " row " << r << " window " << window;
      }
    }
  }
}

TEST(HmxDevice, InfinitiesAndNansMatchTheDefinition) {
  const Heads heads = {2, 1, 16, 0};
  PairedRun run = NewRun(heads, 64);
  run.set_input([](int external, int64_t content, float* row, int64_t columns) {
    SeededRandom random(CounterRandom(5, content, external));
    for (int64_t c = 0; c < columns; ++c) row[c] = random.Uniform(-300.0f, 300.0f);   // Scores beyond FP16, some of them.
    if (content == 20) row[3] = std::numeric_limits<float>::quiet_NaN();
    if (content == 30) row[5] = std::numeric_limits<float>::infinity();
  });
  for (const KernelPath path : SupportedKernelPaths()) {
    ThreadPool pool(2);
    HmxDevice device(pool, {.path = path, .kv_block = 16});
    run.ForgetCaches();
    const RowOutputs found = run.On(device, Chain(40));
    for (int r = 0; r < 40; ++r) {
      const std::vector<float> expected = Defined(run, heads, Text(r + 1), 16);
      for (size_t c = 0; c < expected.size(); ++c) {
        ASSERT_EQ(std::isnan(found[r][c]), std::isnan(expected[c])) << KernelPathName(path) << " row " << r;
        const float number = std::isnan(expected[c]) ? 0 : found[r][c], wanted = std::isnan(expected[c]) ? 0 : expected[c];
        ASSERT_EQ(number, wanted) << KernelPathName(path) << " row " << r;
      }
    }
  }
}

// One chain of FP32 multiply-adds per output, rounded once.
TEST(HmxDevice, ProductsAreRoundedToFp16Once) {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 70), y = graph.AddOutput("up", 45), z = graph.AddOutput("gate", 33);
  const WeightId up = graph.AddMatrix({"up", BlockFormat::kF32, 45, 70}, kInt4);
  const WeightId gate = graph.AddMatrix({"gate", BlockFormat::kF32, 33, 70}, kFp16);
  graph.Add(Linear{.x = x, .products = {{.weight = up, .y = y}, {.weight = gate, .y = z}}});
  PairedRun run(graph, {});
  ThreadPool pool(2);
  HmxDevice device(pool, {});
  const RowOutputs found = run.On(device, Chain(30));
  for (int r = 0; r < 30; ++r) {
    const std::vector<float> row = run.Input(0, r);
    for (int o = 0; o < 45 + 33; ++o) {
      const float* const weights = o < 45 ? run.weight(up) + o * 70 : run.weight(gate) + (o - 45) * 70;
      float sum = 0;
      for (int k = 0; k < 70; ++k) sum = std::fma(weights[k], HalfToFloat(FloatToHalf(row[k])), sum);
      ASSERT_EQ(found[r][o], HalfToFloat(FloatToHalf(sum))) << "row " << r << " output " << o;
    }
  }
}

// Before it is rounded; an adapter's part comes behind.
TEST(HmxDevice, BiasesArePartOfProducts) {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 32), product = graph.AddScratch("product", 64), y = graph.AddOutput("y", 64);
  const WeightId low = graph.AddMatrix({"low", BlockFormat::kF32, 32, 32}, kInt8);
  const WeightId high = graph.AddMatrix({"high", BlockFormat::kF32, 32, 32}, kFp16);
  const WeightId bias = graph.AddVector("bias", 64);
  graph.Add(Linear{.x = x, .products = {{.weight = low, .y = product}, {.weight = high, .y = product, .first_column = 32}}});
  graph.Add(AddBias{.x = product, .weight = bias, .y = y});
  PairedRun run(graph, {});
  EXPECT_EQ(run.compiled().graph.operators.size(), 1u);
  ThreadPool pool(2);
  HmxDevice device(pool, {});
  const RowOutputs found = run.On(device, Chain(20));
  int once = 0;
  for (int r = 0; r < 20; ++r) {
    const std::vector<float> row = run.Input(0, r);
    for (int o = 0; o < 64; ++o) {
      const float* const weights = o < 32 ? run.weight(low) + o * 32 : run.weight(high) + (o - 32) * 32;
      float sum = 0;
      for (int k = 0; k < 32; ++k) sum = std::fma(weights[k], HalfToFloat(FloatToHalf(row[k])), sum);
      ASSERT_EQ(found[r][o], HalfToFloat(FloatToHalf(sum + run.weight(bias)[o]))) << "row " << r << " output " << o;
      once += found[r][o] != HalfToFloat(FloatToHalf(sum)) + run.weight(bias)[o];
    }
  }
  EXPECT_GT(once, 100);   // Or it would be the same, rounded before.
}

VariedShape ShapeOf(const std::vector<TileScheme>& tiles) {
  return {.width = 70, .inner = 150, .heads = 6, .kv_heads = 2, .head_size = 20, .rope_dimensions = 20, .window = 19, .bias = true,
          .head_norms = true, .adapters = true, .tiles = tiles};
}

// Rows, threads, instruction sets: none of them is in a row's bits. Schemes differ, so that rows are rounded in several ways for one
// Linear.
TEST(HmxDevice, RowBitsDependOnTheRowAlone) {
  for (const std::vector<TileScheme>& tiles :
       {std::vector{kInt4}, {kFp16}, {kInt4, kInt8, kCommon}, {kChannel}, {kTensor, kInt4, kChannel}}) {
    PairedRun run(VariedBlock(ShapeOf(tiles)), {.kv_heads = 2, .head_size = 20});
    ThreadPool one(1), three(3);
    HmxDevice portable(one, {.path = KernelPath::kPortable, .kv_block = 16});
    RowOutputs expected;
    for (int r = 0; r < 40; ++r) expected.push_back(run.On(portable, Chain(1, r))[0]);
    for (const KernelPath path : SupportedKernelPaths()) {
      for (ThreadPool* pool : {&one, &three}) {
        HmxDevice device(*pool, {.path = path, .kv_block = 16});
        run.ForgetCaches();
        RowOutputs found = run.On(device, Chain(17));
        for (std::vector<float>& row : run.On(device, Chain(23, 17))) found.push_back(std::move(row));
        for (int r = 0; r < 40; ++r) {
          ASSERT_TRUE(SameBits(found[r], expected[r])) << KernelPathName(path) << " row " << r << " " << TileSchemeName(tiles[0]);
        }
      }
    }
  }
}

// FP16 at the edges of matrices is near FP32 throughout with the same weights: a few roundings of 2^-11, one after the other.
TEST(HmxDevice, ABlockIsNearTheReference) {
  for (const std::vector<TileScheme>& tiles : {std::vector{kFp16}, {kInt4, kInt8}, {kCommon}}) {
    PairedRun run(VariedBlock(ShapeOf(tiles)), {.kv_heads = 2, .head_size = 20});
    ReferenceDevice reference;
    ThreadPool pool(2);
    HmxDevice device(pool, {.kv_block = 16});
    const RowOutputs expected = run.On(reference, Chain(40)), found = run.On(device, Chain(40));
    for (int r = 0; r < 40; ++r) {
      double squares = 0, errors = 0;
      for (size_t c = 0; c < found[r].size(); ++c) {
        squares += std::pow(expected[r][c], 2);
        errors += std::pow(double{found[r][c]} - expected[r][c], 2);
      }
      ASSERT_LT(std::sqrt(errors / squares), 4 * 0x1p-11) << "row " << r << " " << TileSchemeName(tiles[0]);
    }
  }
}

// Matrices without a scheme are the CPU's business.
TEST(HmxDevice, PanelsHaveTheBitsOfTheHost) {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 96), y = graph.AddOutput("logits", 77);
  graph.Add(Linear{.x = x, .products = {{.weight = graph.AddMatrix({"head", BlockFormat::kQ4_0, 77, 96}), .y = y, .fine = true}}});
  PairedRun run(graph, {});
  ThreadPool pool(2);
  HmxDevice npu(pool, {});
  HostDevice host(pool);
  const RowOutputs found = run.On(npu, Chain(5)), expected = run.On(host, Chain(5));
  for (int r = 0; r < 5; ++r) EXPECT_TRUE(SameBits(found[r], expected[r])) << r;
}

TEST(HmxDevice, TilesAreRefusedByTheHost) {
  PairedRun run(VariedBlock(ShapeOf({kInt4})), {.kv_heads = 2, .head_size = 20});
  ThreadPool pool(1);
  HostDevice host(pool);
  const std::unique_ptr<LoadedGraph> graph = Must(host.Load(run.compiled()));
  EXPECT_EQ(host.Run(*graph, run.Prepare(host, Chain(1))).message(), "arguments: weights: found tiles, expected panels on this device");
}

TEST(HmxDevice, TilesTakeAnyInputsUpToTheUnitsMostAndAreNoTables) {
  const auto compile = [](int64_t inputs, BlockFormat format) {
    Graph graph;
    const BufferId x = graph.AddInput("x", inputs), y = graph.AddOutput("y", 8);
    graph.Add(Linear{.x = x, .products = {{.weight = graph.AddMatrix({"m", format, 8, inputs}, kInt4), .y = y}}});
    return Compile(std::move(graph), {}).status();
  };
  EXPECT_TRUE(compile(40, BlockFormat::kQ4_K).ok());   // The file's format says nothing.
  EXPECT_NE(compile(16385, BlockFormat::kF32).message().find("weight 0: m (int4-tile 8 x 16385): in_features: found 16385"),
            std::string::npos);
  Graph graph;
  const BufferId y = graph.AddOutput("y", 32);
  graph.Add(Embedding{.table = graph.AddMatrix({"table", BlockFormat::kF32, 8, 32}, kInt4), .y = y});
  EXPECT_NE(Compile(std::move(graph), {}).status().message().find("table: found tiles, expected panels"), std::string::npos);
}

// What a run takes is planned before it.
TEST(HmxDevice, ScratchBytesHoldsRowsForTiles) {
  PairedRun two(VariedBlock(ShapeOf({kInt4, kChannel})), {.kv_heads = 2, .head_size = 20});   // Rows are rounded in two ways,
  PairedRun one(VariedBlock(ShapeOf({kInt4})), {.kv_heads = 2, .head_size = 20});             // and in one.
  ThreadPool pool(1);
  HmxDevice device(pool, {});
  const CompiledGraph* const with_two[] = {&two.compiled()};
  const CompiledGraph* const with_one[] = {&one.compiled()};
  EXPECT_GE(device.ScratchBytes(with_two, 64) - device.ScratchBytes(with_one, 64), 64 * 150 * 4);
}

}  // namespace
}  // namespace tessera
