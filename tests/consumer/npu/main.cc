// Compiles a graph of two operators: the one buffer between them needs a place in the arena.
#include <iostream>
#include <utility>

#include "tessera/npu/compiler.h"

int main() {
  using namespace tessera;
  Graph graph;
  const BufferId x = graph.AddInput("hidden", 64);
  const BufferId normed = graph.AddScratch("normed", 64), y = graph.AddOutput("up", 32);
  graph.Add(RmsNorm{.x = x, .weight = graph.AddVector("norm", 64), .y = normed, .epsilon = 1e-5f});
  const WeightId up = graph.AddMatrix({"up", BlockFormat::kQ4_1, 32, 64});
  graph.Add(Linear{.x = normed, .products = {{.weight = up, .y = y}}});
  const absl::StatusOr<CompiledGraph> compiled = Compile(std::move(graph), {.row_capacity = 10});
  const int64_t arena_bytes = compiled.ok() ? compiled->arena_bytes : -1;
  std::cout << "npu: the arena has " << arena_bytes << " bytes; " << compiled.status() << "\n";
  return arena_bytes == 10 * 64 * 4 ? 0 : 1;
}
