// Runs static graphs on this CPU: packed weights, 8-bit activations, FP16 keys and values, as many threads as the pool has.
//
//   ThreadPool pool(2);
//   HostDevice device(pool);
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device.Load(compiled));
//   RETURN_IF_ERROR(device.Run(*graph, arguments));
//
// Promise: the bits of a row's outputs depend on the row's own inputs, path and adapter and on the weights. The bits never depend on the
// other rows, the number of threads, cache slots or the kernel path (docs/numerics.md). A run costs the active rows. Equal graphs are kept
// once, even if many blocks load them. Submit computes, on the caller's thread and the pool's threads.
//
// Execution: all workers walk the operators together, with barriers only after products, stores and attention. A single row is not worth a
// barrier between other operators, so every worker computes the row's norms and activations redundantly. A norm or activation takes about
// 0.3 us, a barrier 0.4 us. One worker reads the row's embedding, before a barrier.
//
// REQUIRES: buffers overlap neither each other nor weights, and no two rows of a Run store to one slot.
// Errors: as Device; also InvalidArgument if an adapter's rank is above 1024.
// Threads: one Run at a time; a Run uses the pool exclusively.
#pragma once

#include <memory>

#include "tessera/base/cpu_features.h"
#include "tessera/base/thread_pool.h"
#include "tessera/npu/device.h"

namespace tessera {

class GraphRunner;
struct HostArithmetic;
struct MatMulKernels;

class HostDevice : public Device {
 public:
  struct Options {
    KernelPath path = BestKernelPath();
    KvFormat kv_format = KvFormat::kHalf;    // REQUIRES: kHalf or kInt8.
    const MatMulKernels* matmul = nullptr;   // Null: the kernels of the path. Tests plant wrong kernels. Must outlive the device.
  };
  // The pool must outlive the device. REQUIRES: this CPU supports options.path.
  explicit HostDevice(ThreadPool& pool, const Options& options);
  explicit HostDevice(ThreadPool& pool);
  ~HostDevice() override;

  absl::string_view name() const override { return "host"; }
  WeightEncoding weight_encoding() const override { return WeightEncoding::kPacked; }
  KvFormat kv_format() const override { return kv_format_; }
  RowPolicy row_policy() const override { return RowPolicy::kAny; }
  LoadCost CostOf(const CompiledGraph& graph) const override;
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override;
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override;
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override;
  absl::Status Wait() override { return absl::OkStatus(); }

 protected:
  // For a device that differs only in arithmetic, name and weight layout (npu/hmx/hmx_device.h).
  HostDevice(ThreadPool& pool, const HostArithmetic& arithmetic, KvFormat kv_format);

 private:
  const KvFormat kv_format_;
  const std::unique_ptr<GraphRunner> runner_;
};

}  // namespace tessera
