// A graph as HostDevice keeps it: what can be decided once, before any row is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/npu/compiler.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {

// A step of every worker's walk through a graph: some operators of each row alone, all of them for a row before the next row; then one
// operator that workers share. If that is a Linear, each row is rounded for it as soon as the row's own operators are done.
struct HostStep {
  size_t begin = 0;                      // Operators [begin, shared) are of each row alone; there may be none.
  size_t shared = 0;                     // The operator that workers share; the number of operators if the graph ends before one.
  std::vector<BufferId> reads = {};      // What [begin, shared) reads of what workers share out: other workers may have written it.
  bool barrier_before_shared = false;    // With several rows: it reads rows that other workers wrote in this step.
  std::vector<PanelShape> matrices = {}; // Of a Linear's products, in order; of another operator none.
  bool rounds = false;                   // Are the Linear's rows rounded to 8 bits (for some of its products)?
  bool rounds_fine = false;              // To 16 bits (for others)?
};

struct HostGraph {
  CompiledGraph compiled;
  std::vector<HostStep> steps;
  std::vector<int> external;                 // Per buffer: its index in RunArguments::buffers, or -1.
  // Per buffer: does a worker keep its own copy when there is a single row? True where an operator of each row alone writes it.
  std::vector<bool> row_written;
  // Per buffer: with several rows too, as only its own step reads it, and the rounding there. (Adapters read what is rounded, later.)
  std::vector<bool> passing;
  std::vector<int64_t> private_offsets;      // Bytes into a worker's own scratch, for those buffers.
  int64_t private_bytes = 0;
  int64_t widest_input = 0;                  // Most in_features of any product with rounded rows.
  int64_t widest_head = 0;                   // Largest head of any Attention.
  int64_t most_heads = 0;                    // Most query heads of any Attention.
};

HostGraph PrepareForHost(const CompiledGraph& compiled);

}  // namespace tessera
