// Runs static graphs in plain FP32, one operator after the other: the yardstick for every faster device.
//
//   ThreadPool pool(2);
//   ReferenceDevice device(&pool);
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device.Load(compiled));
//   RETURN_IF_ERROR(device.Run(*graph, arguments));
//
// Weights are row-major FP32, keys and values FP32. Every buffer has separate memory (no plan, no sharing); operators are the functions of
// tensor/reference_ops. Results are near the exact results but may differ in the last bits with rows and threads. The device is fast enough
// for a small model (some ten tokens per second with 135 million weights on two cores). Submit computes.
//
// Threads: as Device.
//
// An observer sees the inputs of each product, for statistics of activations:
//
//   ReferenceDevice device(&pool, {.observe = [&](const ReferenceDevice::ProductInput& input) { Count(input.bytes.data(), input.x); }});
//
// Graphs name no layer (equal layers share one graph), so an observer's argument names no layer either: `bytes` tells the weights of all
// layers apart. If weights are resident, the address of `bytes` leads to a unit and an offset, and by WeightLayout to the tensor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "tessera/base/thread_pool.h"
#include "tessera/npu/device.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class ReferenceDevice : public Device {
 public:
  // One product of a Linear, before the product is computed. All members are valid during the call.
  struct ProductInput {
    const GraphWeight& weight;               // The graph's weight: the label is the same in all layers.
    absl::Span<const std::byte> bytes;       // From RunArguments::weights: row-major FP32. A tensor may come in several parts.
    TensorView<const float> x;               // [rows, in_features], before adapters. Parts of a tensor, and other products, share x.
  };
  struct Options {
    std::function<void(const ProductInput& input)> observe = nullptr;  // Called on the thread of Submit. Null: no observer.
  };
  // pool: divides matrix products by outputs and attention by rows. Null: everything runs on the caller's thread. The pool must outlive the
  // device.
  explicit ReferenceDevice(ThreadPool* pool = nullptr) : ReferenceDevice(pool, Options()) {}
  ReferenceDevice(ThreadPool* pool, Options options) : pool_(pool), options_(std::move(options)) {}

  absl::string_view name() const override { return "reference"; }
  WeightEncoding weight_encoding() const override { return WeightEncoding::kFloat32; }
  KvFormat kv_format() const override { return KvFormat::kFloat; }
  RowPolicy row_policy() const override { return RowPolicy::kAny; }
  LoadCost CostOf(const CompiledGraph& graph) const override;
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override;
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override;
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override;
  absl::Status Wait() override { return absl::OkStatus(); }

 private:
  ThreadPool* pool_;
  const Options options_;
  std::vector<std::vector<float>> scratch_;  // Per buffer of the most recent graph.
};

}  // namespace tessera
