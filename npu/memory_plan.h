// Places the scratch buffers of a graph in one arena, so that buffers with disjoint lives share bytes.
//
//   ASSIGN_OR_RETURN(std::vector<BufferLife> lives, LivesOf(graph, /*row_capacity=*/512));
//   ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(lives));
//   std::byte* buffer = arena + plan.offsets[id];
//
// The arena is never larger than the sum of the buffers; for a decoder's block the arena is several times smaller. First fit by offset,
// largest buffer first (Pisarchyk and Lee 2020, "greedy by size"): O(n^2) for n buffers, once per graph.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/graph.h"

namespace tessera {

// The life of a buffer: its contents matter while the operators `first` to `last`, both included, run. bytes 0: not in the arena.
struct BufferLife {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets = {};  // Per buffer: a multiple of 64, or -1 if the buffer is not in the arena.
  int64_t arena_bytes = 0;            // A multiple of 64.
};

// Returns one life per buffer of the graph; inputs and outputs get bytes 0. A buffer lives from its first writer to the barrier operator at
// or after its last use, or to the end of the graph. A device's threads wait for each other before and after each barrier operator (Linear,
// StoreKeyValue, Attention). Between two barrier operators, one thread may still read a buffer that another thread has finished with.
// OutOfRange if a size does not fit in 63 bits. REQUIRES: every BufferId of the graph is in range.
absl::StatusOr<std::vector<BufferLife>> LivesOf(const Graph& graph, int row_capacity);

// Returns true for operators after which all threads of a device have waited for each other.
bool IsBarrierOperator(const Operator& op);

// Plans offsets for `lives`. InvalidArgument (with the buffer) if bytes is negative or last < first; OutOfRange if the arena does not fit
// in 63 bits.
absl::StatusOr<MemoryPlan> PlanMemory(absl::Span<const BufferLife> lives);

}  // namespace tessera
