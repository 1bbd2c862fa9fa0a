// What HostDevice stores in a cache of 8-bit codes (docs/numerics.md).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/rotated.h"

namespace tessera {
namespace {

constexpr int kHeads = 3;

// Each head of a row is of another size. Row 1 has a NaN in its middle head, row 2 an infinity, row 3 nothing above 2^-116.
void FillRow(int external, int64_t content, float* row, int64_t columns) {
  const int64_t size = columns / kHeads;
  SeededRandom random(CounterRandom(3, content, external));
  for (int64_t c = 0; c < columns; ++c) row[c] = random.Uniform(-1.0f, 1.0f) * static_cast<float>(1 + 10 * (c / size));
  if (content == 1) row[size] = std::numeric_limits<float>::quiet_NaN();
  if (content == 2) row[2 * size - 1] = -std::numeric_limits<float>::infinity();
  if (content == 3) std::fill_n(row + size, size, 1e-35f);
}

// Code c of scale s stands for n * c * s of the rotated head: the largest has code 127, and every number is within half a step.
void ExpectRounded(absl::Span<const float> head, float scale, const std::vector<int8_t>& codes) {
  const std::vector<float> rotated = Rotated(head);
  const float step = scale * static_cast<float>(head.size() & -head.size());
  int largest = 0;
  for (size_t d = 0; d < head.size(); ++d) {
    largest = std::max<int>(largest, std::abs(codes[d]));
    ASSERT_NEAR(codes[d] * step, rotated[d], 0.501f * step + 1e-32f) << d;
  }
  ASSERT_EQ(largest, scale == 0 ? 0 : 127);
}

// Codes of one slot, whose numbers lie `stride` apart.
std::vector<int8_t> Codes(const int8_t* first, int count, int stride) {
  std::vector<int8_t> codes(count);
  for (int i = 0; i < count; ++i) codes[i] = first[i * stride];
  return codes;
}

TEST(HostByteCache, StoreRoundsEachHeadOfEachSlotWithAScaleOfItsOwn) {
  for (int head_size : {1, 16, 20, 64, 256}) {
    Graph graph;
    graph.Add(StoreKeyValue{.key = graph.AddInput("key", kHeads * head_size), .value = graph.AddInput("value", kHeads * head_size)});
    PairedRun paired(graph, {.kv_heads = kHeads, .head_size = head_size, .slots = 32});
    paired.set_input(FillRow);
    for (KernelPath path : SupportedKernelPaths()) {
      ThreadPool pool(2);
      HostDevice device(pool, {.path = path, .kv_format = KvFormat::kInt8});
      paired.ForgetCaches();
      paired.On(device, {{0, {{5, 1}}}, {1, {{12, 1}}}, {2, {{19, 1}}}, {3, {{26, 1}}}});
      const KvView kv = paired.kv(KvFormat::kInt8);
      for (int head = 0; head < kHeads; ++head) {
        for (int slot = 0; slot < 32; ++slot) {
          SCOPED_TRACE(testing::Message() << KernelPathName(path) << " head size " << head_size << " head " << head << " slot " << slot);
          const float key_scale = kv.KeyScales(0, head)[slot], value_scale = kv.ValueScales(0, head)[slot];
          const int row = slot % 7 == 5 ? slot / 7 : 4;
          if (row == 4 || (head == 1 && (row == 1 || row == 2))) {  // Never written, or not finite.
            ASSERT_TRUE(std::isnan(key_scale) && std::isnan(value_scale));
            continue;
          }
          ASSERT_EQ(key_scale == 0, head == 1 && row == 3);
          const std::vector<float> key = paired.Input(0, row), value = paired.Input(1, row);
          const size_t first = static_cast<size_t>(head) * head_size;
          ExpectRounded(absl::MakeConstSpan(key).subspan(first, head_size), key_scale,
                        Codes(kv.Keys<int8_t>(0, head) + kv.KeyIndex(slot, 0), head_size, KvView::kSlotsPerBlock));
          ExpectRounded(absl::MakeConstSpan(value).subspan(first, head_size), value_scale,
                        Codes(kv.Values<int8_t>(0, head) + kv.ValueIndex(slot, 0), head_size, 1));
        }
      }
    }
  }
}

TEST(HostByteCache, RefusesHeadsThatKernelsHaveNoRoomFor) {
  Graph graph;
  graph.Add(StoreKeyValue{.key = graph.AddInput("key", 1040), .value = graph.AddInput("value", 1040)});
  PairedRun paired(graph, {.kv_heads = 1, .head_size = 1040, .slots = 16});
  ThreadPool pool(1);
  HostDevice device(pool, {.kv_format = KvFormat::kInt8});
  const std::unique_ptr<LoadedGraph> loaded = device.Load(paired.compiled()).value();
  EXPECT_EQ(device.Run(*loaded, paired.Prepare(device, Chain(1))),
            absl::InvalidArgumentError("arguments: kv: head_size: found 1040, expected at most 1024 with 8 bits"));
}

}  // namespace
}  // namespace tessera
