// A graph as HostDevice keeps it: what can be decided once, before any row is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/npu/compiler.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

// A step of every worker's walk through a graph. First come operators that work on each row alone: all of them run for one row, then all
// for the next. Then comes one operator that the workers share. If it is a Linear, each row is rounded for it as soon as the row's own
// operators are done.
struct HostStep {
  size_t begin = 0;                      // Operators [begin, shared) work on each row alone; there may be none.
  size_t shared = 0;                     // The operator that workers share; the number of operators if the graph ends before one.
  std::vector<BufferId> reads = {};      // Buffers that [begin, shared) reads and that other workers may have written.
  bool barrier_before_shared = false;    // With several rows: the shared operator reads rows that other workers wrote in this step.
  std::vector<PanelShape> matrices = {}; // The matrices of a Linear's products, in order. Empty for another operator.
  bool rounds = false;                   // Are the Linear's rows rounded to 8 bits (for some of its products)?
  bool rounds_fine = false;              // To 16 bits (for others)?
  std::vector<TileInput> tile_inputs = {};   // How they are rounded for products with matrices in tiles.
  std::vector<int> input_of = {};        // Per product: which of these it takes; -1: its matrix is in panels.
  // Per product: which A x of a row it takes, in order of first use; -1: no adapter. Parts of one matrix share theirs.
  std::vector<int> inner_of = {};
  int inners = 0;                        // How many these are.
};

struct HostGraph {
  CompiledGraph compiled;
  std::vector<HostStep> steps;
  std::vector<int> external;                 // Per buffer: its index in RunArguments::buffers, or -1.
  // Per buffer: does a worker keep its own copy when there is a single row? True where an operator of each row alone writes it.
  std::vector<bool> row_written;
  // Per buffer: does a worker keep its own copy with several rows, too? True where only the step that writes the buffer reads it, to
  // compute rows, to round them and to multiply them by an adapter's A.
  std::vector<bool> passing;
  std::vector<int64_t> private_offsets;      // Bytes into a worker's own scratch, for those buffers.
  int64_t private_bytes = 0;
  int64_t widest_input = 0;                  // Most in_features of any product with rounded rows.
  int64_t tile_inputs = 0;                   // Most tile_inputs of any step,
  int64_t inners = 0;                        // and most inners.
  int64_t widest_head = 0;                   // Largest head of any Attention.
  int64_t most_heads = 0;                    // Most query heads of any Attention.
};

HostGraph PrepareForHost(const CompiledGraph& compiled);

}  // namespace tessera
