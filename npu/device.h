// What runs static graphs: this CPU at full speed (HostDevice), or in plain FP32 as the yardstick (ReferenceDevice).
//
//   ASSIGN_OR_RETURN(GraphHandle handle, device->Load(compiled));
//   RunArguments arguments = {.rows = 1, .buffers = {{hidden, 576}, {out, 1536}}, .weights = {norm_bytes, up_bytes}};
//   RETURN_IF_ERROR(device->Run(handle, arguments));
//
// Threads: one Run at a time per device; Load between runs. Arguments are borrowed for the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/compiler.h"
#include "tessera/quant/graph_weight.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {

using GraphHandle = int;

// One adapter's numbers for one placeholder. a: [rank, in] and b: [rank, out], row-major FP32: B is stored transposed, so that sixteen
// outputs lie side by side. Null a: not bound.
// REQUIRES of a product that is bound: 1 <= rank <= kLargestAdapterRank, since kernels keep A x on their stack.
inline constexpr int kLargestAdapterRank = 1024;
struct AdapterProduct { const float* a = nullptr; const float* b = nullptr; int rank = 0; float scale = 0; };

// An input or output buffer of the caller's: FP32, row r at data + r * row_stride.
struct BoundBuffer { float* data = nullptr; int64_t row_stride = 0; };

struct RunArguments {
  int rows = 0;                                                   // REQUIRES: 0 <= rows <= row_capacity.
  int first_row = 0;                                              // What errors call row 0, if these are the middle of a pass.
  absl::InlinedVector<BoundBuffer, 4> buffers;                    // The graph's inputs and outputs, in order of their ids.
  absl::Span<const absl::Span<const std::byte>> weights;          // One per graph weight, 64-byte aligned.
  absl::Span<const int32_t> tokens;                               // Per row, for Embedding.
  absl::Span<const int32_t> slots;                                // Per row, for StoreKeyValue.
  absl::Span<const SlotPath> paths;                               // Per row, for Attention; position = length - 1.
  // Per rope table, for each row the cosine and sine of pair i at [2i], [2i+1]; rows are `dimensions` of the operator apart.
  absl::Span<const float* const> rope_tables;
  // Per row the adapter's placeholders (graph.adapters of them) or null. Empty: no row has one.
  absl::Span<const AdapterProduct* const> adapters;
  KvView kv;                                                      // Layer 0 of it is the block's first layer.
};

class Device {
 public:
  virtual ~Device() = default;
  virtual WeightEncoding weight_encoding() const = 0;
  virtual KvFormat kv_format() const = 0;
  // Keeps a copy of the graph. Handles stay valid while the device lives.
  virtual absl::StatusOr<GraphHandle> Load(const CompiledGraph& graph) = 0;
  // InvalidArgument if the arguments do not fit the graph (which, found, expected); nothing has run then.
  virtual absl::Status Run(GraphHandle handle, const RunArguments& arguments) = 0;
  // What the loaded graphs need of memory besides arguments and weights, once one has run with all its rows and paths of
  // `longest_path` positions.
  virtual int64_t ScratchBytes(int longest_path) const = 0;
};

// The checks every device makes before it runs: counts and sizes of all arguments against the graph.
absl::Status CheckArguments(const CompiledGraph& graph, WeightEncoding encoding, KvFormat kv_format, const RunArguments& arguments);

}  // namespace tessera
