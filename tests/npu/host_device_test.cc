#include "tessera/npu/host/host_device.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/tests/fakes/decoder_block.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/varied_block.h"

namespace tessera {
namespace {

TEST(HostDevice, HeaderExample) {
  PairedRun paired(DecoderBlock({.embedding = true, .format = BlockFormat::kQ4_1}), {.kv_heads = 2});
  const CompiledGraph& compiled = paired.compiled();
  const auto run = [&]() -> absl::Status {
    ThreadPool pool(2);
    HostDevice device(pool);
    const RunArguments& arguments = paired.Prepare(device, Chain(3));
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device.Load(compiled));
    RETURN_IF_ERROR(device.Run(*graph, arguments));
    return absl::OkStatus();
  };
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_NE(paired.Outputs()[2][0], PairedRun::kMark);
}

// A block with all operators, in float and in rounded formats, with single products of either kind and mixed ones.
Graph MixedBlock() {
  return VariedBlock({.width = 256,
                      .inner = 256,
                      .heads = 8,
                      .kv_heads = 2,
                      .head_size = 32,
                      .rope_dimensions = 24,
                      .window = 7,
                      .bias = true,
                      .head_norms = true,
                      .post_norms = true,
                      .fine_values = true,
                      .formats = {BlockFormat::kQ4_0, BlockFormat::kF16, BlockFormat::kQ8_0, BlockFormat::kF32,
                                  BlockFormat::kQ6_K, BlockFormat::kQ4_K, BlockFormat::kBF16}});
}

// Each row in a Run of its own, on one thread in plain C++.
RowOutputs OneByOne(PairedRun& paired, const std::vector<TestRow>& rows, const MatMulKernels* matmul = nullptr) {
  ThreadPool pool(1);
  HostDevice device(pool, {.path = KernelPath::kPortable, .matmul = matmul});
  RowOutputs outputs;
  for (const TestRow& row : rows) outputs.push_back(paired.On(device, {row})[0]);
  return outputs;
}

constexpr PairedRun::Options kMixedCache = {.seed = 3, .kv_heads = 2, .head_size = 32};

TEST(HostDevice, RowBitsDoNotDependOnRowsThreadsOrPath) {
  PairedRun paired(MixedBlock(), kMixedCache);
  const RowOutputs expected = OneByOne(paired, Chain(17));
  for (KernelPath path : SupportedKernelPaths()) {
    for (int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      HostDevice device(pool, {.path = path});
      for (int rows = 1; rows <= 17; ++rows) {
        paired.ForgetCaches();
        const RowOutputs found = paired.On(device, Chain(rows));
        for (int r = 0; r < rows; ++r) {
          ASSERT_TRUE(SameBits(found[r], expected[r]))
              << KernelPathName(path) << ", " << threads << " threads, row " << r << " of " << rows;
        }
      }
    }
  }
}

// So many that each worker has rows of its own and walks all panels (PanelSchedule), in blocks of some of its rows.
TEST(HostDevice, ManyRowsHaveTheBitsOfEachAlone) {
  PairedRun paired(MixedBlock(), {.seed = 3, .kv_heads = 2, .head_size = 32, .slots = 336, .row_capacity = 336});
  const RowOutputs expected = OneByOne(paired, Chain(331));
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    HostDevice device(pool);
    for (int rows : {32, 63, 64, 96, 97, 256, 331}) {
      paired.ForgetCaches();
      const RowOutputs found = paired.On(device, Chain(rows));
      for (int r = 0; r < rows; ++r) ASSERT_TRUE(SameBits(found[r], expected[r])) << threads << " threads, row " << r << " of " << rows;
    }
  }
}

TEST(HostDevice, RowBitsDoNotDependOnHowAPromptIsCut) {
  PairedRun paired(MixedBlock(), kMixedCache);
  const RowOutputs expected = OneByOne(paired, Chain(17));
  ThreadPool pool(2);
  HostDevice device(pool);
  for (const std::vector<int>& pieces : std::vector<std::vector<int>>{{16, 1}, {1, 15, 1}, {5, 7, 1, 4}, {8, 9}}) {
    paired.ForgetCaches();
    int first = 0;
    for (int count : pieces) {
      const RowOutputs found = paired.On(device, Chain(count, first));
      for (int r = 0; r < count; ++r) ASSERT_TRUE(SameBits(found[r], expected[first + r])) << "row " << first + r;
      first += count;
    }
  }
}

// The smallest difference that sums in another order can make, where there are several rows: the tests above must not let it
// pass.
void LastBitOffForSeveralRows(const PanelJob& job) {
  const MatMulKernels& kernels = MatMulKernelsFor(KernelPath::kPortable);
  kernels.panels[static_cast<int>(BlockFormat::kBF16)](job);
  for (int64_t r = 0; job.rows > 1 && r < job.rows; ++r) {
    float& first = job.y[r * job.y_stride + 32 * job.panel_begin];
    first = std::nextafter(first, std::numeric_limits<float>::infinity());
  }
}

TEST(HostDevice, APlantedKernelThatRoundsOtherwiseForSeveralRowsIsSeen) {
  PairedRun paired(MixedBlock(), kMixedCache);
  MatMulKernels planted = MatMulKernelsFor(KernelPath::kPortable);
  planted.panels[static_cast<int>(BlockFormat::kBF16)] = LastBitOffForSeveralRows;  // The block's last product.
  const RowOutputs alone = OneByOne(paired, Chain(3), &planted);
  ThreadPool pool(1);
  HostDevice device(pool, {.path = KernelPath::kPortable, .matmul = &planted});
  paired.ForgetCaches();
  const RowOutputs together = paired.On(device, Chain(3));
  EXPECT_FALSE(SameBits(together[0], alone[0]) && SameBits(together[1], alone[1]) && SameBits(together[2], alone[2]));
}

// One worker alone reads a single row's embedding: the others once went on without waiting for it.
TEST(HostDevice, ASingleRowsEmbeddingIsThereForAllThreads) {
  PairedRun paired(DecoderBlock({.width = 1024, .embedding = true}), {.kv_heads = 2});
  const RowOutputs expected = OneByOne(paired, Chain(1));
  ThreadPool pool(3);
  HostDevice device(pool);
  const std::unique_ptr<LoadedGraph> graph = device.Load(paired.compiled()).value();
  for (int i = 0; i < 100; ++i) {
    const TestRow other = {33, {{0, 1}}};  // Leaves another token's numbers behind.
    for (const TestRow& row : {other, Chain(1)[0]})
      ASSERT_EQ(device.Run(*graph, paired.Prepare(device, {row})), absl::OkStatus());
    ASSERT_TRUE(SameBits(paired.Outputs()[0], expected[0])) << "run " << i;
  }
}

TEST(HostDevice, ANanInOneRowTouchesNoOther) {
  PairedRun paired(MixedBlock(), kMixedCache);
  std::vector<TestRow> rows;  // Children of one prefix, each in a slot of the same cache block.
  for (int r = 0; r < 7; ++r) rows.push_back({r, {{0, 3}, {20 + r, 1}}});
  ThreadPool pool(2);
  HostDevice device(pool);
  paired.On(device, Chain(3));
  const RowOutputs clean = paired.On(device, rows);
  for (float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    paired.set_input([odd](int, int64_t content, float* row, int64_t columns) {
      SeededRandom random(CounterRandom(1000, content, 0));
      for (int64_t c = 0; c < columns; ++c) row[c] = random.Uniform(-1.0f, 1.0f);
      if (content == 4) row[5] = odd;
    });
    const RowOutputs found = paired.On(device, rows);
    for (int r = 0; r < 7; ++r) EXPECT_EQ(SameBits(found[r], clean[r]), r != 4) << "row " << r << " beside " << odd;
    if (odd > 1e30f || std::isnan(odd)) {
      for (float value : found[4]) ASSERT_FALSE(std::isfinite(value));
    }
  }
}

TEST(HostDevice, GraphsLoadedTogetherDoNotDisturbOneAnother) {
  PairedRun large(MixedBlock(), kMixedCache), small(DecoderBlock({.layers = 2}), {.kv_heads = 2});
  ThreadPool pool(2);
  HostDevice device(pool);
  const std::unique_ptr<LoadedGraph> first = device.Load(small.compiled()).value(), second = device.Load(large.compiled()).value();
  ASSERT_EQ(device.Run(*first, small.Prepare(device, Chain(2))), absl::OkStatus());
  const RowOutputs before = small.Outputs();
  ASSERT_EQ(device.Run(*second, large.Prepare(device, Chain(5))), absl::OkStatus());
  ASSERT_EQ(device.Run(*first, small.Prepare(device, Chain(2))), absl::OkStatus());
  EXPECT_TRUE(SameBits(small.Outputs()[0], before[0]) && SameBits(small.Outputs()[1], before[1]));
}

// A row operator may write an output that a later one reads; with one row, all threads compute it and one of them hands it out.
TEST(HostDevice, OutputsMayBeReadByLaterOperators) {
  Graph graph;
  const BufferId x = graph.AddInput("x", 40), normed = graph.AddOutput("normed", 40), y = graph.AddOutput("y", 70);
  const BufferId sum = graph.AddOutput("sum", 40);
  graph.Add(RmsNorm{.x = x, .weight = graph.AddVector("norm", 40), .y = normed, .epsilon = 1e-5f});
  graph.Add(Linear{.x = normed, .products = {{.weight = graph.AddMatrix({"w", BlockFormat::kF32, 70, 40}), .y = y}}});
  graph.Add(Add{.a = x, .b = normed, .y = sum});
  PairedRun paired(graph, {});
  ReferenceDevice reference;
  for (int rows : {1, 4}) {
    const RowOutputs expected = paired.On(reference, Chain(rows));
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      HostDevice device(pool);
      const RowOutputs found = paired.On(device, Chain(rows));
      for (int r = 0; r < rows; ++r) {
        for (size_t c = 0; c < expected[r].size(); ++c)
          ASSERT_NEAR(found[r][c], expected[r][c], 1e-5) << "row " << r << " column " << c;
      }
    }
  }
}

TEST(HostDevice, NoRowsAreNoWork) {
  PairedRun paired(MixedBlock(), kMixedCache);
  ThreadPool pool(2);
  HostDevice device(pool);
  EXPECT_EQ(device.Run(*device.Load(paired.compiled()).value(), paired.Prepare(device, {})), absl::OkStatus());
}

class RefusedArguments : public testing::Test {
 protected:
  RunArguments& Fresh() { return paired_.Prepare(device_, Chain(2)); }
  // Expects InvalidArgument with this text, and that nothing was written.
  void ExpectRefused(const RunArguments& arguments, const std::string& message) {
    EXPECT_EQ(device_.Run(*graph_, arguments), absl::InvalidArgumentError(message));
    for (const std::vector<float>& row : paired_.Outputs()) EXPECT_EQ(row, std::vector<float>(row.size(), PairedRun::kMark));
  }

  PairedRun paired_{VariedBlock({.adapters = true, .formats = {BlockFormat::kQ4_0}}), {.kv_heads = 2}};
  ThreadPool pool_{1};
  HostDevice device_{pool_};
  std::unique_ptr<LoadedGraph> graph_ = device_.Load(paired_.compiled()).value();
};

TEST_F(RefusedArguments, NameTheFoundAndTheExpectedValue) {
  RunArguments* arguments = &Fresh();
  arguments->rows = 65;
  EXPECT_EQ(device_.Run(*graph_, *arguments), absl::InvalidArgumentError("arguments: rows: found 65, expected 0 to 64"));
  arguments = &Fresh();
  arguments->weights = arguments->weights.first(3);
  ExpectRefused(*arguments, "arguments: weights: found 3, expected 9");
  arguments = &Fresh();
  arguments->slots = arguments->slots.first(1);
  ExpectRefused(*arguments, "arguments: slots: found 1, expected 2");
  arguments = &Fresh();
  arguments->rope_tables = {};
  ExpectRefused(*arguments, "arguments: rope_tables: found 0, expected 1");
  arguments = &Fresh();
  arguments->buffers[1].row_stride = 63;
  EXPECT_EQ(device_.Run(*graph_, *arguments),
            absl::InvalidArgumentError("arguments: buffer 1 \"out\": row_stride: found 63, expected >= 64"));
  arguments = &paired_.Prepare(device_, {{0, {{0, 65}}}});
  ExpectRefused(*arguments, "arguments: slot of row 0: found 64, expected 0 to 63");
  arguments = &paired_.Prepare(device_, {{0, {{60, 5}, {3, 1}}}});
  ExpectRefused(*arguments, "arguments: path of row 0: found 5 slots from 60, expected at least one, within 0 to 63");
}

TEST_F(RefusedArguments, WeightsInTheOtherEncoding) {
  ReferenceDevice reference;
  RunArguments& arguments = paired_.Prepare(reference, Chain(2));
  arguments.kv = paired_.kv(KvFormat::kHalf);
  ExpectRefused(arguments, "arguments: weight 1 \"matrix 1\": bytes: found 16384, expected 2304");
}

TEST_F(RefusedArguments, ACacheOfFloats) {
  RunArguments& arguments = Fresh();
  arguments.kv = paired_.kv(KvFormat::kFloat);
  ExpectRefused(arguments, "arguments: kv: format: found FP32, expected FP16");
}

TEST_F(RefusedArguments, ARankTheKernelHasNoRoomFor) {
  const std::vector<float> numbers(1025 * 64);
  AdapterProduct products[7] = {};
  products[3] = {.a = numbers.data(), .b = numbers.data(), .rank = 1025, .scale = 1};
  std::vector<TestRow> rows = Chain(2);
  rows[1].adapters = products;
  ExpectRefused(paired_.Prepare(device_, rows), "arguments: adapter 3 of row 1: rank: found 1025, expected 1 to 1024");
}

// A graph that only stores wants the format as much as one that attends.
TEST(HostDevice, RefusesACacheOfFloatsForStoresAlone) {
  Graph graph;
  graph.Add(StoreKeyValue{.key = graph.AddInput("key", 16), .value = graph.AddInput("value", 16)});
  PairedRun paired(graph, {});
  ThreadPool pool(1);
  HostDevice device(pool);
  const std::unique_ptr<LoadedGraph> loaded = device.Load(paired.compiled()).value();
  RunArguments& arguments = paired.Prepare(device, Chain(1));
  EXPECT_EQ(device.Run(*loaded, arguments), absl::OkStatus());
  arguments.kv = paired.kv(KvFormat::kFloat);
  EXPECT_EQ(device.Run(*loaded, arguments), absl::InvalidArgumentError("arguments: kv: format: found FP32, expected FP16"));
}

}  // namespace
}  // namespace tessera
