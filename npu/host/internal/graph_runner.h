// Runs static graphs on the threads of a pool with a given arithmetic. HostDevice and HmxDevice delegate to a GraphRunner.
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
  // The pool and the kernels named by `arithmetic` must outlive the runner.
  GraphRunner(ThreadPool& pool, const HostArithmetic& arithmetic) : pool_(pool), arithmetic_(arithmetic) {}

  // Equal graphs are kept once.
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph);
  // Checks the arguments, then computes on the caller's thread and the pool's threads. REQUIRES: this runner loaded `loaded`.
  absl::Status Run(LoadedGraph& loaded, const RunArguments& arguments, WeightEncoding encoding, KvFormat kv_format);
  // As Device::ScratchBytes.
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const;

 private:
  using GraphKey = std::pair<std::string, int>;   // The graph's text and row capacity.

  ThreadPool& pool_;
  const HostArithmetic arithmetic_;
  absl::flat_hash_map<GraphKey, std::weak_ptr<const HostGraph>> graphs_;   // Graphs that are loaded now or were loaded before.
  AlignedBuffer arena_;      // Scratch buffers, shared by all graphs: only one graph runs at a time.
  AlignedBuffer rounded_;    // All rows of a pass, rounded for the current product.
  AlignedBuffer inner_;      // A x of the rows' adapters for the current product. Empty while no row has an adapter.
  AlignedBuffer taken_;      // Parts of each operator's work that workers have taken.
  AlignedBuffer private_;    // Per worker: a single row's scratch, its rounded copy, attention scores.
};

}  // namespace tessera
