#include "tessera/npu/device.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/decoder_block.h"
#include "tessera/tests/fakes/graph_inputs.h"

namespace tessera {
namespace {

TEST(Device, HeaderExample) {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 576), normed = graph.AddScratch("normed", 576), y = graph.AddOutput("up", 1536);
  const WeightId norm = graph.AddVector("norm", 576), up = graph.AddMatrix({"up", BlockFormat::kF32, 1536, 576});
  graph.Add(RmsNorm{.x = x, .weight = norm, .y = normed, .epsilon = 1e-5f});
  graph.Add(Linear{.x = normed, .products = {{.weight = up, .y = y}}});
  const CompiledGraph compiled = *Compile(graph, {});
  std::vector<float> row(576, 1.0f), result(1536);
  float *hidden = row.data(), *out = result.data();
  const AlignedBuffer norm_weight = *AlignedBuffer::Allocate(4 * 576), up_weight = *AlignedBuffer::Allocate(4 * 1536 * 576);
  for (int i = 0; i < 576; ++i) norm_weight.as<float>()[i] = 2, up_weight.as<float>()[i] = 0.5f;
  ReferenceDevice reference;
  Device* device = &reference;
  const absl::Span<const std::byte> norm_bytes = norm_weight.bytes(), up_bytes = up_weight.bytes();
  const absl::Span<const std::byte> weights[] = {norm_bytes, up_bytes};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device->Load(compiled));
    RunArguments arguments = {.rows = 1, .buffers = {{hidden, 576}, {out, 1536}}, .weights = weights};
    RETURN_IF_ERROR(device->Run(*graph, arguments));
    return absl::OkStatus();
  };
  ASSERT_TRUE(run().ok()) << run();
  EXPECT_NEAR(out[0], 576, 0.01);
  EXPECT_EQ(out[1], 0);
}

// --- Arguments of a decoder block (from tokens, so nothing is left out), and one fault at a time.

CompiledGraph Compiled() { return *Compile(DecoderBlock({.adapters = true, .embedding = true}), {.row_capacity = 4}); }

struct Fault {
  std::function<void(GraphInputs&)> make;
  const char* expected;  // Part of the message.
};

void ExpectRefused(const std::vector<Fault>& faults) {
  const CompiledGraph compiled = Compiled();
  for (const Fault& fault : faults) {
    GraphInputs inputs(compiled, 1, /*kv_heads=*/2);
    inputs.SetRows({3, 1, 4});
    fault.make(inputs);
    const absl::Status status = CheckArguments(compiled, WeightEncoding::kFloat32, KvFormat::kFloat, inputs.arguments());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.expected;
    EXPECT_NE(std::string(status.message()).find(fault.expected), std::string::npos)
        << status << "\n  expected: " << fault.expected;
  }
}

TEST(Device, AcceptsTheArgumentsThatTheFaultsBelowSpoil) {
  const CompiledGraph compiled = Compiled();
  GraphInputs inputs(compiled, 1, /*kv_heads=*/2);
  inputs.SetRows({3, 1, 4});
  const absl::Status status = CheckArguments(compiled, WeightEncoding::kFloat32, KvFormat::kFloat, inputs.arguments());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Device, NoRowsNeedNoCacheAndNoMemory) {
  const CompiledGraph compiled = Compiled();
  GraphInputs inputs(compiled, 1, /*kv_heads=*/2);
  inputs.SetRows({});
  inputs.arguments().kv = KvView();
  inputs.arguments().buffers[0].data = nullptr;
  EXPECT_TRUE(CheckArguments(compiled, WeightEncoding::kFloat32, KvFormat::kFloat, inputs.arguments()).ok());
}

TEST(Device, RefusesWrongCountsAndMemory) {
  ExpectRefused({
      {[](GraphInputs& in) { in.arguments().rows = -1; }, "rows: found -1, expected 0 to 4"},
      {[](GraphInputs& in) { in.arguments().rows = 5; }, "rows: found 5, expected 0 to 4"},
      {[](GraphInputs& in) { in.arguments().buffers.clear(); }, "buffers: found 0, expected 1"},
      {[](GraphInputs& in) { in.arguments().buffers.push_back({}); }, "buffers: found 2, expected 1"},
      {[](GraphInputs& in) { in.arguments().buffers[0].data = nullptr; }, "buffer 0 \"out\": found null"},
      {[](GraphInputs& in) { in.arguments().buffers[0].row_stride = 63; },
       "buffer 0 \"out\": row_stride: found 63, expected >= 64"},
      {[](GraphInputs& in) { in.arguments().weights.remove_suffix(1); }, "weights: found 11, expected 12"},
      {[](GraphInputs& in) { in.arguments().rows = 2; }, "tokens: found 3, expected 2"},
      {[](GraphInputs& in) { in.arguments().tokens = {}; }, "tokens: found 0, expected 3"},
      {[](GraphInputs& in) { in.arguments().slots = {}; }, "slots: found 0, expected 3"},
      {[](GraphInputs& in) { in.arguments().paths = {}; }, "paths: found 0, expected 3"},
      {[](GraphInputs& in) { in.arguments().rope_tables = {}; }, "rope_tables: found 0, expected 1"},
  });
}

TEST(Device, RefusesWeightsOfWrongSizeOrAlignment) {
  std::vector<absl::Span<const std::byte>> spans;
  const auto replace = [&](GraphInputs& in, int begin_cut, int end_cut) {
    spans.assign(in.arguments().weights.begin(), in.arguments().weights.end());
    spans[2] = {spans[2].data() + begin_cut, spans[2].size() - end_cut};
    in.arguments().weights = spans;
  };
  ExpectRefused({
      {[&](GraphInputs& in) { replace(in, 0, 4); }, "weight 2 \"norm.weight\": bytes: found 252, expected 256"},
      {[&](GraphInputs& in) { replace(in, 4, 0); }, "weight 2 \"norm.weight\": address modulo 64: found 4, expected 0"},
  });
}

TEST(Device, RefusesRowsThatPointOutsideTheCache) {
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  static const int32_t kNegativeToken[] = {3, -1, 4};
  static const float* const kNullTable[] = {nullptr};
  ExpectRefused({
      {[](GraphInputs& in) { in.arguments().tokens = kNegativeToken; }, "token of row 1: found -1"},
      {[](GraphInputs& in) { in.arguments().rope_tables = kNullTable; }, "rope table 0: found null"},
      {[](GraphInputs& in) { in.SetSlot(1, -1); }, "slot of row 1: found -1, expected 0 to 63"},
      {[](GraphInputs& in) { in.SetSlot(2, 64); }, "slot of row 2: found 64"},
      {[](GraphInputs& in) { in.SetPath(1, {}); }, "path of row 1: length: found 0"},
      {[](GraphInputs& in) { in.SetPath(2, {{0, 2}, {5, 0}}); }, "path of row 2: found 0 slots from 5"},
      {[](GraphInputs& in) { in.SetPath(0, {{-2, 2}}); }, "path of row 0: found 2 slots from -2"},
      {[](GraphInputs& in) { in.SetPath(0, {{0, 1}, {kNoSlot, 2}}); }, "path of row 0: found 2 slots from -1"},
      {[](GraphInputs& in) { in.SetPath(0, {{kNoSlot, 1}, {0, 5}}); },
       "path of row 0: found 1 positions without slots, expected none, before the window"},
      {[](GraphInputs& in) { in.SetPath(0, {{60, 5}}); }, "found 5 slots from 60"},
      {[=](GraphInputs& in) { in.SetPath(0, {{kLargest, kLargest}}); }, "found 2147483647 slots from 2147483647"},
      {[](GraphInputs& in) { in.SetPath(0, {{0, 64}, {0, 1}}); }, "length: found 65, expected 1 to 64"},
  });
}

TEST(Device, OnlyPositionsBeforeTheWindowNeedNoSlots) {
  Graph graph;
  const BufferId q = graph.AddInput("q", 64), y = graph.AddScratch("y", 64), z = graph.AddOutput("z", 64);
  graph.Add(Attention{.query = q, .y = y, .heads = 4, .scale = 1, .window = 5});
  graph.Add(Attention{.query = y, .y = z, .layer = 1, .heads = 4, .scale = 1, .window = 7});
  const CompiledGraph compiled = *Compile(graph, {});
  GraphInputs inputs(compiled, 1, /*kv_heads=*/2);
  inputs.SetRows({0});
  const auto check = [&](const std::vector<SlotRange>& path) {
    inputs.SetPath(0, path);
    return std::string(CheckArguments(compiled, WeightEncoding::kFloat32, KvFormat::kFloat, inputs.arguments()).message());
  };
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(check({{kNoSlot, 1000}, {3, 7}}), "");
  EXPECT_EQ(check({{kNoSlot, 1001}, {3, 6}}),
            "arguments: path of row 0: found 1001 positions without slots, expected 1 to 1000, before the window");
  EXPECT_EQ(check({{kNoSlot, 0}, {3, 9}}), "arguments: path of row 0: found 0 positions without slots, expected 1 to 2, before the window");
  EXPECT_EQ(check({{kNoSlot, -4}, {3, 20}}),
            "arguments: path of row 0: found -4 positions without slots, expected 1 to 9, before the window");
  EXPECT_EQ(check({{kNoSlot, 5}}), "arguments: path of row 0: found 5 positions without slots, expected none, before the window");
  EXPECT_EQ(check({{kNoSlot, kLargest}, {3, 7}}),
            "arguments: path of row 0: positions: found 2147483654, expected at most 1073741824");
}

TEST(Device, RefusesACacheOfAnotherShape) {
  static std::byte memory[1 << 16];
  const auto cache = [](int heads, int head_size, int slots) {
    return [=](GraphInputs& in) { in.arguments().kv = KvView(memory, memory, KvFormat::kFloat, heads, head_size, slots); };
  };
  ExpectRefused({
      {[](GraphInputs& in) { in.arguments().kv = KvView(); }, "kv: slots: found 0"},
      {[](GraphInputs& in) { in.arguments().kv = KvView(nullptr, memory, KvFormat::kFloat, 2, 16, 64); }, "kv: found null"},
      {[](GraphInputs& in) { in.arguments().kv = KvView(memory, nullptr, KvFormat::kFloat, 2, 16, 64); }, "kv: found null"},
      {cache(2, 16, 40), "kv: slots: found 40, expected a positive multiple of 16"},
      {cache(0, 16, 64), "kv: heads: found 0"},
      {cache(2, 0, 64), "kv: head_size: found 0"},
      {cache(3, 16, 64), "kv: heads x head_size: found 48, expected 32"},
      {cache(4, 8, 64), "kv: head_size: found 8, expected 16"},
      {[](GraphInputs& in) { in.arguments().kv = KvView(memory, memory, KvFormat::kInt8, 2, 16, 64); },
       "kv: format: found 8-bit, expected FP32"},
  });
}

TEST(Device, RefusesKvHeadsThatDoNotDivideTheQueryHeads) {
  Graph graph;
  const BufferId q = graph.AddInput("q", 64), y = graph.AddOutput("y", 64);
  graph.Add(Attention{.query = q, .y = y, .heads = 4, .scale = 1});
  const CompiledGraph compiled = *Compile(graph, {});
  GraphInputs inputs(compiled, 1, /*kv_heads=*/3);
  inputs.SetRows({0});
  const absl::Status status = CheckArguments(compiled, WeightEncoding::kFloat32, KvFormat::kFloat, inputs.arguments());
  EXPECT_NE(std::string(status.message()).find("kv: heads: found 3, expected a divisor of the query heads 4"), std::string::npos)
      << status;
}

TEST(Device, RefusesAdaptersThatCannotBeMultiplied) {
  static const float number = 1;
  static const AdapterProduct kNoB[] = {{.a = &number, .b = nullptr, .rank = 1, .scale = 1}};
  static const AdapterProduct kNoRank[] = {{.a = &number, .b = &number, .rank = 0, .scale = 1}};
  static const AdapterProduct kNoScale[] = {
      {.a = &number, .b = &number, .rank = 1, .scale = std::numeric_limits<float>::infinity()}};
  static const AdapterProduct kBlocks[] = {{.a = &number, .b = &number, .rank = 1, .scale = 1, .format = BlockFormat::kQ8_0}};
  static const AdapterProduct* const kOfBlocks[] = {kBlocks, nullptr, nullptr};
  static const AdapterProduct* const kTwoRows[] = {nullptr, nullptr};
  static const AdapterProduct* const kWithoutB[] = {nullptr, nullptr, kNoB};
  static const AdapterProduct* const kWithoutRank[] = {kNoRank, nullptr, nullptr};
  static const AdapterProduct* const kWithoutScale[] = {nullptr, kNoScale, kNoScale};
  ExpectRefused({
      {[](GraphInputs& in) { in.arguments().adapters = kTwoRows; }, "adapters: found 2, expected 3"},
      {[](GraphInputs& in) { in.arguments().adapters = kWithoutB; }, "adapter 0 of row 2: b: found null"},
      {[](GraphInputs& in) { in.arguments().adapters = kWithoutRank; }, "adapter 0 of row 0: rank: found 0"},
      {[](GraphInputs& in) { in.arguments().adapters = kWithoutScale; }, "adapter 0 of row 1: scale: found inf"},
      {[](GraphInputs& in) { in.arguments().adapters = kOfBlocks; }, "adapter 0 of row 0: format: found Q8_0, expected F32, F16 or BF16"},
  });
}

}  // namespace
}  // namespace tessera
