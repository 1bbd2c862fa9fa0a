// Runs static graphs: on this CPU at full speed (HostDevice), or in plain FP32 as the yardstick (ReferenceDevice).
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device->Load(compiled));
//   RunArguments arguments = {.rows = 1, .buffers = {{hidden, 576}, {out, 1536}}, .weights = {norm_bytes, up_bytes}};
//   RETURN_IF_ERROR(device->Submit(*graph, arguments));   // a device with threads of its own returns at once
//   RETURN_IF_ERROR(device->Wait());                      // now `out` is written
//                                                         // the graph is unloaded where `graph` ends
//
// npu/graph_store.h decides which graphs of a model are loaded, and when.
//
// Threads: one thread at a time uses a device. Between Submit and Wait that thread may load and unload other graphs.
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


// The two matrices of one adapter for one placeholder. a: [rank, in] and b: [rank, out], row-major, in `format`. B is stored transposed, so
// that sixteen outputs are adjacent. 16-bit numbers are widened to FP32 during the read. Widening is exact: the bits equal an adapter in
// FP32 with the same numbers. Null a: not bound.
//
// REQUIRES of a bound product: 1 <= rank <= kLargestAdapterRank; format is kF32, kF16 or kBF16; a and b are aligned to the size of one
// number. kLargestAdapterRank bounds the room for A x of all rows.
inline constexpr int kLargestAdapterRank = 1024;
struct AdapterProduct {
  const void* a = nullptr;
  const void* b = nullptr;
  int rank = 0;
  float scale = 0;
  BlockFormat format = BlockFormat::kF32;
};

// An input or output buffer that the caller owns: FP32, row r at data + r * row_stride.
struct BoundBuffer { float* data = nullptr; int64_t row_stride = 0; };

struct RunArguments {
  int rows = 0;                                                   // REQUIRES: 0 <= rows <= row_capacity.
  // Number of row 0 in error messages, if the rows are the middle of a pass.
  int first_row = 0;
  int layer = kNone;                                              // The run's layer in timelines; kNone: no layer.
  absl::InlinedVector<BoundBuffer, 4> buffers = {};               // The graph's inputs and outputs, in order of BufferId.
  absl::Span<const absl::Span<const std::byte>> weights = {};     // One per graph weight, 64-byte aligned.
  absl::Span<const int32_t> tokens = {};                          // Per row, for Embedding.
  absl::Span<const int32_t> slots = {};                           // Per row, for StoreKeyValue.
  absl::Span<const SlotPath> paths = {};                          // Per row, for Attention; position = length - 1.
  // Per rope table: each row's cosine and sine of pair i at [2i], [2i+1]. Rows are the operator's `dimensions` numbers apart.
  absl::Span<const float* const> rope_tables = {};
  // Per row the adapter's placeholders (graph.adapters products) or null. Empty: no row has an adapter.
  absl::Span<const AdapterProduct* const> adapters = {};
  KvView kv = {};                                                 // Layer 0 of `kv` is the block's first layer.
};

// A graph that is loaded on a device. The destructor unloads the graph. REQUIRES: the device outlives the LoadedGraph and does not run the
// graph during the destructor.
class LoadedGraph {
 public:
  virtual ~LoadedGraph() = default;
  // Memory that the device keeps for the graph. A device that keeps equal graphs once reports the full bytes for each graph.
  virtual int64_t bytes() const = 0;
  virtual int rows() const = 0;        // Most rows of a run.
  // False if a run would wait for the end of the load. Loads proceed in parallel with runs.
  virtual bool is_ready() const { return true; }
};

// Cost of a run. kAny: the cost of the rows given. kExact: the cost of graph.rows() rows; fewer rows are padded inside the device, and
// results of padding are not stored.
enum class RowPolicy : uint8_t { kAny, kExact };

// Cost of loading a graph: memory while the graph is loaded, and time.
struct LoadCost {
  int64_t bytes = 0;
  double seconds = 0;         // Time of a separate load. A device that reads weights measures this time in reads; 0 before the first read.
  double fixed_seconds = 0;   // The part that does not grow with bytes. Graphs in one load pay fixed_seconds once (Device::SplitLoads).
};

// Limits on the graphs that are loaded at the same time.
struct GraphLimits {
  int graphs = std::numeric_limits<int>::max();
  int64_t bytes = std::numeric_limits<int64_t>::max();   // Limit on the sum of LoadCost::bytes.
};

class Device {
 public:
  virtual ~Device() = default;

  // Properties of the device: known before any Load, constant.
  virtual absl::string_view name() const = 0;                          // "host".
  virtual WeightEncoding weight_encoding() const = 0;
  virtual KvFormat kv_format() const = 0;
  virtual RowPolicy row_policy() const = 0;
  // The resource that runs keep busy, for timelines; default: this machine's CPU.
  virtual Resource resource() const { return Resource::kCpu; }
  virtual GraphLimits limits() const { return {}; }
  virtual LoadCost CostOf(const CompiledGraph& graph) const = 0;
  // Memory that `graphs`, loaded together, need in addition to arguments and weights, after each graph has run with all rows and paths of
  // `longest_path` positions. Equal graphs count once.
  virtual int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const = 0;

  // Loads `graph` and keeps a copy of the needed parts. ResourceExhausted beyond limits().
  virtual absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) = 0;
  // True if the device's graphs hold the weights of `block`, a block number in a GraphStore. Loading such a graph reads the weights, and
  // runs ignore RunArguments::weights. Only on such a device does the block number tell equal graphs apart. CostOfBlock and LoadBlock are
  // CostOf and Load for a graph of `block`. LoadBlock also returns ResourceExhausted if a device that holds weights has no memory for
  // another graph of the block.
  virtual bool HoldsWeights(int /*block*/) const { return false; }
  virtual LoadCost CostOfBlock(int /*block*/, const CompiledGraph& graph) const { return CostOf(graph); }
  virtual absl::StatusOr<std::unique_ptr<LoadedGraph>> LoadBlock(int /*block*/, const CompiledGraph& graph) { return Load(graph); }
  // Begins a new load: graphs loaded from now on do not share a load with earlier graphs. A device on a virtual clock merges graphs that
  // are loaded at one time of the clock into one load. Other devices do nothing.
  virtual void SplitLoads() {}

  // Turns recording on or off. While recording is off, the device's own timeline gets no events, and the count of seconds waited for loads
  // does not grow. Recording stays off until SetRecording(true). Devices with neither a timeline nor such a count do nothing.
  virtual void SetRecording(bool /*on*/) {}

  // Returns the seconds that runs have waited for loads of graphs so far, by the device's clock.
  virtual double LoadWaitSeconds() const { return 0; }

  // Begins a run. Borrows the arguments until Wait returns. A device without separate threads computes here. InvalidArgument if the
  // arguments do not fit the graph (argument, found, expected). After an error no run has begun, and there is nothing to wait for.
  // REQUIRES: the graph is loaded on this device, and Wait has returned since the last Submit that began a run.
  virtual absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) = 0;
  // Waits until the run is over. Returns the run's error.
  virtual absl::Status Wait() = 0;

  // Calls Submit, then Wait.
  absl::Status Run(LoadedGraph& graph, const RunArguments& arguments);
};

// Checks all arguments against the graph: counts and sizes. Every device calls CheckArguments before a run.
absl::Status CheckArguments(const CompiledGraph& graph, WeightEncoding encoding, KvFormat kv_format, const RunArguments& arguments);

}  // namespace tessera
