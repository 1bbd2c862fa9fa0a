// Turns a graph into what a device loads: checked, with a place in memory for every buffer.
//
//   ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(std::move(graph), {.row_capacity = 512}));
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> loaded, device.Load(compiled));
//
// Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/npu/graph.h"

namespace tessera {

constexpr int64_t kAllPositions = int64_t{1} << 30;   // No path is longer.

struct CompileOptions {
  int row_capacity = 512;   // Most rows of one Run. A static graph is sized for it; the host computes only the rows that are there.
};

// What a Run's arguments must look like, taken from the graph once so that the check of each Run stays cheap (CheckArguments).
struct ArgumentNeeds {
  std::vector<BufferId> external = {};     // Inputs and outputs, in order of their ids.
  std::vector<int64_t> packed_bytes = {};  // Per weight: its bytes in WeightEncoding::kPacked, or in tiles if it has a TileScheme,
  std::vector<int64_t> float_bytes = {};   // and in kFloat32.
  bool tiles = false;                      // Some weight has a TileScheme.
  bool tokens = false;                     // Some operator is an Embedding.
  int rope_tables = 0;
  int64_t key_columns = 0;                 // Columns of every StoreKeyValue's key; 0: the graph stores none.
  int64_t head_size = 0;                   // The same in every Attention; 0: the graph has none.
  int64_t query_heads = 0;                 // Greatest common divisor of the heads of all Attentions: the cache's heads must divide it.
  int64_t longest_window = 0;              // Longest of all Attentions; kAllPositions if one has no window. Paths must hold so much.
};

struct CompiledGraph {
  Graph graph = {};
  std::string text = {};               // GraphText(graph): graphs with equal texts and row capacities are equal.
  int row_capacity = 0;
  // Byte offset of each scratch buffer in the arena: [row_capacity, row_stride] FP32; -1 for inputs and outputs, which the caller
  // owns. Two buffers share bytes only if one is no longer read when the other is written.
  std::vector<int64_t> offsets = {};
  int64_t arena_bytes = 0;
  ArgumentNeeds needs = {};
};

// Floats from one row of a scratch buffer to the next: whole cache lines.
constexpr int64_t RowStride(int64_t columns) { return (columns + 15) / 16 * 16; }

// About what a copy of it takes in memory: lists and names. Weights are not part of it.
int64_t DescriptionBytes(const CompiledGraph& compiled);

// InvalidArgument names the operator (index and kind), the buffer or weight, and what is wrong with it: a buffer read before it is
// written or written twice, a shape that does not fit, an attribute out of range. Several Embeddings may fill one buffer, and the
// products of one Linear may fill different columns of one buffer, together all of them. OutOfRange if a size overflows.
absl::StatusOr<CompiledGraph> Compile(Graph graph, const CompileOptions& options);

}  // namespace tessera
