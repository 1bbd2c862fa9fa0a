// A graph in HostDevice's form: with all decisions that do not depend on the rows of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/npu/compiler.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

// One step of every worker's walk through a graph. First come operators that work on each row alone: all operators run for one row, then
// all for the next row. Then comes one operator that the workers share. If that operator is a Linear, each row is rounded for the Linear as
// soon as the row's own operators are done.
struct HostStep {
  size_t begin = 0;                      // Operators [begin, shared) work on each row alone; there may be none.
  // The operator that workers share; the number of operators if the graph ends before a shared operator.
  size_t shared = 0;
  std::vector<BufferId> reads = {};      // Buffers that [begin, shared) reads and that other workers may have written.
  bool barrier_before_shared = false;    // With several rows: the shared operator reads rows that other workers wrote in this step.
  std::vector<PanelShape> matrices = {}; // The matrices of a Linear's products, in order. Empty for another operator.
  bool rounds = false;                   // True if the Linear's rows are rounded to 8 bits (for some of its products).
  bool rounds_fine = false;              // True if the Linear's rows are rounded to 16 bits (for other products).
  std::vector<TileInput> tile_inputs = {};   // Roundings of rows for products with matrices in tiles.
  std::vector<int> input_of = {};        // Per product: index in tile_inputs; -1: the matrix is in panels.
  // Per product: index of the A x that the product uses, in order of first use; -1: no adapter. Parts of one matrix share one A x.
  std::vector<int> inner_of = {};
  int inners = 0;                        // Number of distinct A x in inner_of.
};

struct HostGraph {
  CompiledGraph compiled;
  std::vector<HostStep> steps;
  std::vector<int> external;                 // Per buffer: its index in RunArguments::buffers, or -1.
  // Per buffer: whether a worker keeps its own copy when there is a single row. True where an operator of each row alone writes the buffer.
  std::vector<bool> row_written;
  // Per buffer: whether a worker keeps its own copy with several rows, too. True where only the step that writes the buffer also reads the
  // buffer. Reads compute rows, round rows, and multiply rows by an adapter's A.
  std::vector<bool> passing;
  std::vector<int64_t> private_offsets;      // Byte offsets of own copies in a worker's scratch.
  int64_t private_bytes = 0;
  int64_t widest_input = 0;                  // Most in_features of any product with rounded rows.
  int64_t tile_inputs = 0;                   // Most tile_inputs of any step.
  int64_t inners = 0;                        // Most inners of any step.
  int64_t widest_head = 0;                   // Largest head of any Attention.
  int64_t most_heads = 0;                    // Most query heads of any Attention.
};

HostGraph PrepareForHost(const CompiledGraph& compiled);

}  // namespace tessera
