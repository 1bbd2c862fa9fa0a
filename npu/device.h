// What runs static graphs: this CPU at full speed (HostDevice), or in plain FP32 as the yardstick (ReferenceDevice).
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device->Load(compiled));
//   RunArguments arguments = {.rows = 1, .buffers = {{hidden, 576}, {out, 1536}}, .weights = {norm_bytes, up_bytes}};
//   RETURN_IF_ERROR(device->Submit(*graph, arguments));   // a device with threads of its own returns at once
//   RETURN_IF_ERROR(device->Wait());                      // now `out` is written
//                                                         // the graph is unloaded where `graph` ends
//
// Which graphs of a model are loaded, and when, is npu/graph_store.h's business.
// Threads: one thread at a time uses a device. Between Submit and Wait it may load and unload other graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/compiler.h"
#include "tessera/quant/block_format.h"
#include "tessera/quant/graph_weight.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {


// One adapter's numbers for one placeholder. a: [rank, in] and b: [rank, out], row-major, in `format`: B is stored transposed, so that
// sixteen outputs lie side by side. Numbers of 16 bits are widened as they are read, which is exact: bits are those of the same numbers in
// FP32. Null a: not bound.
// REQUIRES of a product that is bound: 1 <= rank <= kLargestAdapterRank, which bounds the room for A x of all rows; format is kF32, kF16
// or kBF16; a and b lie as numbers of that size do.
inline constexpr int kLargestAdapterRank = 1024;
struct AdapterProduct {
  const void* a = nullptr;
  const void* b = nullptr;
  int rank = 0;
  float scale = 0;
  BlockFormat format = BlockFormat::kF32;
};

// An input or output buffer of the caller's: FP32, row r at data + r * row_stride.
struct BoundBuffer { float* data = nullptr; int64_t row_stride = 0; };

struct RunArguments {
  int rows = 0;                                                   // REQUIRES: 0 <= rows <= row_capacity.
  int first_row = 0;                                              // What errors call row 0, if these are the middle of a pass.
  int layer = kNone;                                              // What timelines call the run; kNone: of no layer.
  absl::InlinedVector<BoundBuffer, 4> buffers = {};               // The graph's inputs and outputs, in order of their ids.
  absl::Span<const absl::Span<const std::byte>> weights = {};     // One per graph weight, 64-byte aligned.
  absl::Span<const int32_t> tokens = {};                          // Per row, for Embedding.
  absl::Span<const int32_t> slots = {};                           // Per row, for StoreKeyValue.
  absl::Span<const SlotPath> paths = {};                          // Per row, for Attention; position = length - 1.
  // Per rope table, for each row the cosine and sine of pair i at [2i], [2i+1]; rows are `dimensions` of the operator apart.
  absl::Span<const float* const> rope_tables = {};
  // Per row the adapter's placeholders (graph.adapters of them) or null. Empty: no row has one.
  absl::Span<const AdapterProduct* const> adapters = {};
  KvView kv = {};                                                 // Layer 0 of it is the block's first layer.
};

// A graph that a device can run, until this ends. REQUIRES: its device outlives it, and does not run it when it ends.
class LoadedGraph {
 public:
  virtual ~LoadedGraph() = default;
  virtual int64_t bytes() const = 0;   // That the device keeps for it. Where it keeps equal graphs once, each says all of them.
  virtual int rows() const = 0;        // Most rows of a run.
  // False: a run would wait until loading it is over, which goes on beside runs.
  virtual bool is_ready() const { return true; }
};

// What a run costs. kAny: what its rows cost. kExact: what graph.rows() cost; fewer are padded inside, and nothing of padding is stored.
enum class RowPolicy : uint8_t { kAny, kExact };

// What loading a graph takes: memory while it is loaded, and time.
struct LoadCost {
  int64_t bytes = 0;
  double seconds = 0;         // What a load of its own takes. A device that reads learns it from its reads; 0 before the first.
  double fixed_seconds = 0;   // The part that does not grow with bytes: graphs that are one load pay it once (Device::SplitLoads).
};

// Most that is loaded at once.
struct GraphLimits {
  int graphs = std::numeric_limits<int>::max();
  int64_t bytes = std::numeric_limits<int64_t>::max();   // The sum of their LoadCosts.
};

class Device {
 public:
  virtual ~Device() = default;

  // These are known before anything is loaded, and stay as they are.
  virtual absl::string_view name() const = 0;                          // "host".
  virtual WeightEncoding weight_encoding() const = 0;
  virtual KvFormat kv_format() const = 0;
  virtual RowPolicy row_policy() const = 0;
  virtual Resource resource() const { return Resource::kCpu; }         // What runs keep busy, for timelines: here this machine's CPU.
  virtual GraphLimits limits() const { return {}; }
  virtual LoadCost CostOf(const CompiledGraph& graph) const = 0;
  // What these graphs, loaded together, need of memory besides arguments and weights, once each has run with all its rows and paths
  // of `longest_path` positions. Equal graphs count once.
  virtual int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const = 0;

  // Keeps a copy of what it needs of the graph. ResourceExhausted beyond limits().
  virtual absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) = 0;
  // The same for a graph of this block, by its number in a GraphStore. Graphs that are alike differ by it only on a device whose graphs
  // hold the weights of their block: loading reads them, and runs take none of RunArguments'. ResourceExhausted, too, where such a
  // device has memory for no other graph of the block.
  virtual bool HoldsWeights(int /*block*/) const { return false; }
  virtual LoadCost CostOfBlock(int /*block*/, const CompiledGraph& graph) const { return CostOf(graph); }
  virtual absl::StatusOr<std::unique_ptr<LoadedGraph>> LoadBlock(int /*block*/, const CompiledGraph& graph) { return Load(graph); }
  // What is loaded after this is not one load with what was loaded before. A device on a virtual clock takes as one what is loaded at one
  // time of it; others have nothing to do.
  virtual void SplitLoads() {}

  // False: a timeline that is the device's own gets nothing until this is called with true, nor do seconds that it counts as waited for
  // loads. Devices without either have nothing to do.
  virtual void SetRecording(bool /*on*/) {}

  // Seconds that runs have waited so far for loads of their graphs, by the device's clock.
  virtual double LoadWaitSeconds() const { return 0; }

  // Begins a run; arguments are borrowed until Wait returns. A device without threads of its own computes here. InvalidArgument if the
  // arguments do not fit the graph (which, found, expected). After an error nothing has begun, and there is nothing to wait for.
  // REQUIRES: the graph is one of this device's, and Wait has returned since the last Submit that began a run.
  virtual absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) = 0;
  // Until the run is over; its error.
  virtual absl::Status Wait() = 0;

  // Both.
  absl::Status Run(LoadedGraph& graph, const RunArguments& arguments);
};

// The checks every device makes before it runs: counts and sizes of all arguments against the graph.
absl::Status CheckArguments(const CompiledGraph& graph, WeightEncoding encoding, KvFormat kv_format, const RunArguments& arguments);

}  // namespace tessera
