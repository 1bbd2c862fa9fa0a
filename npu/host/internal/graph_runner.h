// Runs static graphs on the threads of a pool with the arithmetic that it is given: what a HostDevice does, HmxDevice included.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/npu/device.h"
#include "tessera/npu/host/internal/loaded_graph.h"
#include "tessera/npu/host/internal/worker.h"

namespace tessera {

class GraphRunner {
 public:
  // The pool and the kernels that `arithmetic` names must outlive this.
  GraphRunner(ThreadPool& pool, const HostArithmetic& arithmetic) : pool_(pool), arithmetic_(arithmetic) {}

  // Graphs that are equal are kept once.
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph);
  // Checks the arguments, and computes on the caller's thread and the pool's. REQUIRES: `loaded` is of this runner.
  absl::Status Run(LoadedGraph& loaded, const RunArguments& arguments, WeightEncoding encoding, KvFormat kv_format);
  // As Device has it.
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const;

 private:
  using GraphKey = std::pair<std::string, int>;   // Its text and its row capacity.

  ThreadPool& pool_;
  const HostArithmetic arithmetic_;
  absl::flat_hash_map<GraphKey, std::weak_ptr<const HostGraph>> graphs_;   // Those that are loaded, or were.
  AlignedBuffer arena_;      // Scratch buffers, shared by all graphs: only one runs at a time.
  AlignedBuffer rounded_;    // A pass's rows rounded for the product at hand.
  AlignedBuffer inner_;      // A x of rows' adapters for the product at hand. Nothing while no row has one.
  AlignedBuffer taken_;      // What workers have taken of each operator's work.
  AlignedBuffer private_;    // Per worker: a single row's scratch, its rounded copy, attention scores.
};

}  // namespace tessera
