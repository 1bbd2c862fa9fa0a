// A graph as HostDevice keeps it: what can be decided once, before any row is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/npu/compiler.h"

namespace tessera {

// How a weight's bytes are to be read, worked out from its spec.
struct WeightShape {
  BlockFormat format;
  bool float_activations;
  int64_t in_features;
  int64_t out_features;
  int64_t panels;
  int64_t panel_bytes;
};

struct HostGraph {
  CompiledGraph compiled;
  std::vector<WeightShape> weights;          // Per graph weight; vectors have no panels.
  std::vector<int> external;                 // Per buffer: its index in RunArguments::buffers, or -1.
  // Per buffer: does a worker keep its own copy when there is a single row? True where a row operator writes it.
  std::vector<bool> row_written;
  // Per buffer: with several rows too, as only its chain reads it, and the rounding behind that. (Adapters read what is rounded, later.)
  std::vector<bool> passing;
  std::vector<int64_t> private_offsets;      // Bytes into a worker's own scratch, for those buffers.
  std::vector<size_t> chain_end;             // Per operator: the first one from there on that is not of each row alone.
  std::vector<std::vector<BufferId>> chain_reads;  // Per operator: what a chain from there reads that no chain wrote.
  std::vector<bool> meet_before;             // Per operator, with several rows: its inputs may be another worker's rows.
  int64_t private_bytes = 0;
  int64_t widest_input = 0;                  // Most in_features of any product with rounded rows.
  int64_t widest_head = 0;                   // Largest head of any Attention.
  int64_t most_heads = 0;                    // Most query heads of any Attention.
};

HostGraph PrepareForHost(const CompiledGraph& compiled);

}  // namespace tessera
