// Compiles a graph of two operators, of which the one buffer between them needs a place in the arena, and runs it: the sum of 64 ones.
// Then one attention with a phone NPU's arithmetic: three positions with the same key, whose values' mean it is.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/npu/compiler.h"
#include "tessera/npu/device.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/npu/reference/reference_device.h"

namespace {

using namespace tessera;

// For the last of three rows; -1 if something fails.
float MeanOfValues() {
  constexpr int kSize = 16, kSlots = 16, kRows = 3;
  Graph graph;
  const BufferId key = graph.AddInput("key", kSize), value = graph.AddInput("value", kSize), query = graph.AddInput("query", kSize);
  graph.Add(StoreKeyValue{.key = key, .value = value});
  graph.Add(Attention{.query = query, .y = graph.AddOutput("y", kSize), .heads = 1, .scale = 0.25f});
  const absl::StatusOr<CompiledGraph> compiled = Compile(std::move(graph), {.row_capacity = kRows});
  if (!compiled.ok()) return -1;
  std::vector<float> keys(kRows * kSize, 1.0f), values(kRows * kSize), out(kRows * kSize);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / kSize);   // 0, 1, 2.
  std::vector<std::byte> key_bytes(static_cast<size_t>(KvView::KeyBytes(KvFormat::kHalf, 1, kSize, kSlots)));
  std::vector<std::byte> value_bytes(static_cast<size_t>(KvView::ValueBytes(KvFormat::kHalf, 1, kSize, kSlots)));
  const int32_t slots[kRows] = {0, 1, 2};
  const SlotRange ranges[kRows] = {{0, 1}, {0, 2}, {0, 3}};
  const SlotPath paths[kRows] = {{&ranges[0], 1}, {&ranges[1], 1}, {&ranges[2], 1}};
  ThreadPool pool(1);
  HmxDevice device(pool, {});
  absl::StatusOr<std::unique_ptr<LoadedGraph>> loaded = device.Load(*compiled);
  if (!loaded.ok()) return -1;
  const RunArguments arguments = {.rows = kRows,
                                  .buffers = {{keys.data(), kSize}, {values.data(), kSize}, {keys.data(), kSize}, {out.data(), kSize}},
                                  .slots = slots,
                                  .paths = paths,
                                  .kv = KvView(key_bytes.data(), value_bytes.data(), KvFormat::kHalf, 1, kSize, kSlots)};
  const absl::Status status = device.Run(**loaded, arguments);
  std::cout << "npu: the mean of 0, 1 and 2 is " << out.back() << "; " << status << "\n";
  return status.ok() ? out.back() : -1;
}

}  // namespace

int main() {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 64);
  const BufferId normed = graph.AddScratch("normed", 64), y = graph.AddOutput("up", 32);
  graph.Add(RmsNorm{.x = x, .weight = graph.AddVector("norm", 64), .y = normed, .epsilon = 1e-5f});
  const WeightId up = graph.AddMatrix({"up", BlockFormat::kQ4_1, 32, 64});
  graph.Add(Linear{.x = normed, .products = {{.weight = up, .y = y}}});
  const absl::StatusOr<CompiledGraph> compiled = Compile(std::move(graph), {.row_capacity = 10});
  if (!compiled.ok() || compiled->arena_bytes != 10 * 64 * 4) return 1;

  static float hidden[64], out[32];
  alignas(64) static float norm[64], matrix[32 * 64];
  for (float* const ones : {hidden, norm}) std::fill_n(ones, 64, 1.0f);
  std::fill_n(matrix, 32 * 64, 1.0f);
  const absl::Span<const std::byte> weights[] = {{reinterpret_cast<const std::byte*>(norm), sizeof(norm)},
                                                 {reinterpret_cast<const std::byte*>(matrix), sizeof(matrix)}};
  ReferenceDevice device;
  absl::StatusOr<std::unique_ptr<LoadedGraph>> loaded = device.Load(*compiled);
  if (!loaded.ok()) return 1;
  const absl::Status status = device.Run(**loaded, {.rows = 1, .buffers = {{hidden, 64}, {out, 32}}, .weights = weights});
  std::cout << "npu: the sum of 64 ones is " << out[31] << "; " << status << "\n";
  const float mean = MeanOfValues();
  return status.ok() && out[31] > 63.9f && out[31] < 64.1f && mean > 0.999f && mean < 1.001f ? 0 : 1;
}
