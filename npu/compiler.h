// Compiles a graph for a device: checks the graph and places every buffer in memory.
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

constexpr int64_t kAllPositions = int64_t{1} << 30;   // Longer than any path.

struct CompileOptions {
  // Most rows of one Run. A static graph is sized for `row_capacity` rows; the host computes only the rows of the Run.
  int row_capacity = 512;
};

// Requirements on a Run's arguments, taken from the graph once so that the check of each Run stays cheap (CheckArguments).
struct ArgumentNeeds {
  std::vector<BufferId> external = {};     // Inputs and outputs, in order of their ids.
  std::vector<int64_t> packed_bytes = {};  // Per weight: bytes in WeightEncoding::kPacked, or in tiles if the weight has a TileScheme.
  std::vector<int64_t> float_bytes = {};   // Per weight: bytes in kFloat32.
  bool tiles = false;                      // True if any weight has a TileScheme.
  bool tokens = false;                     // True if any operator is an Embedding.
  int rope_tables = 0;
  int64_t key_columns = 0;                 // Columns of every StoreKeyValue's key; 0: the graph stores no keys.
  int64_t head_size = 0;                   // Equal in every Attention; 0: the graph has no Attention.
  // Greatest common divisor of the head counts of all Attentions: the cache's heads must divide query_heads.
  int64_t query_heads = 0;
  // Longest of all Attentions; kAllPositions if one has no window. Paths must cover longest_window positions.
  int64_t longest_window = 0;
};

struct CompiledGraph {
  Graph graph = {};
  std::string text = {};               // GraphText(graph): graphs with equal texts and row capacities are equal.
  int row_capacity = 0;
  // Byte offset of each scratch buffer in the arena: [row_capacity, row_stride] FP32. -1 for inputs and outputs, which the caller owns. Two
  // buffers share bytes only if one is no longer read when the other is written.
  std::vector<int64_t> offsets = {};
  int64_t arena_bytes = 0;
  ArgumentNeeds needs = {};
};

// Returns the floats from one row of a scratch buffer to the next: whole cache lines.
constexpr int64_t RowStride(int64_t columns) { return (columns + 15) / 16 * 16; }

// Approximate memory in bytes of a copy of `compiled`: lists and names. Weights are not counted.
int64_t DescriptionBytes(const CompiledGraph& compiled);

// Checks `graph` and plans memory. Several Embeddings may fill one buffer. The products of one Linear may fill different columns of one
// buffer, together all columns.
//
// Errors: InvalidArgument names the operator (index and kind), the buffer or weight, and the fault. Faults are a buffer read before any
// write or written twice, a shape that does not fit, or an attribute out of range. OutOfRange if a size overflows.
absl::StatusOr<CompiledGraph> Compile(Graph graph, const CompileOptions& options);

}  // namespace tessera
