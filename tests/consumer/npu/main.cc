// Compiles a graph of two operators, of which the one buffer between them needs a place in the arena, and runs it: the sum of 64 ones.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "tessera/npu/compiler.h"
#include "tessera/npu/device.h"
#include "tessera/npu/reference/reference_device.h"

int main() {
  using namespace tessera;
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
  return status.ok() && out[31] > 63.9f && out[31] < 64.1f ? 0 : 1;
}
