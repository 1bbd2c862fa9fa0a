// A device that behaves like accelerators. The device runs on its own thread, also while a graph is loaded, and holds few graphs. All rows
// of a graph are computed, including missing rows.
//
//   StaticDevice device({.graphs = 2, .load_nanos = 200'000});
//   GraphStore store(device, model.variants());
//   EXPECT_GT(device.loads(), 0);
//
// Numbers are HostDevice's. Missing rows are padded with rows of NaN in the device's own memory. Keys and values of padded rows go to slots
// behind the cache's; only data of real rows is copied back. CHECKs the requirements of Device and LoadedGraph: one run at a time, which is
// waited for; graphs of this device, which end before the device and not during their runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/tests/fakes/await.h"

namespace tessera {

// Arguments for all rows of a graph. The first rows are a run's.
class PaddedRun {
 public:
  // The cache of padded rows has one more block of slots.
  PaddedRun(const CompiledGraph& graph, const RunArguments& run) : graph_(graph), run_(run), padded_(run) {
    padded_.rows = graph.row_capacity;
    PadBuffers();
    PadRopeTables();
    tokens_.assign(run.tokens.begin(), run.tokens.end());
    tokens_.resize(padded_.rows, 0);
    padded_.tokens = tokens_;
    if (!run.adapters.empty()) {
      adapters_.assign(run.adapters.begin(), run.adapters.end());
      adapters_.resize(padded_.rows, nullptr);
      padded_.adapters = adapters_;
    }
    if (graph.needs.key_columns != 0 || graph.needs.head_size != 0) PadCache();
  }

  const RunArguments& arguments() const { return padded_; }

  // Hands on the outputs and the stored data of the real rows.
  void HandOn() const {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const GraphBuffer& buffer = graph_.graph.buffers[graph_.needs.external[i]];
      if (buffer.kind != BufferKind::kOutput) continue;
      for (int r = 0; r < run_.rows; ++r) {
        std::copy_n(&buffers_[i][r * buffer.columns], buffer.columns, run_.buffers[i].data + r * run_.buffers[i].row_stride);
      }
    }
    if (graph_.needs.key_columns == 0) return;
    for (int r = 0; r < run_.rows; ++r) CopySlot(padded_.kv, run_.kv, run_.slots[r]);
  }

 private:
  void PadBuffers() {
    for (size_t i = 0; i < graph_.needs.external.size(); ++i) {
      const int64_t columns = graph_.graph.buffers[graph_.needs.external[i]].columns;
      buffers_.emplace_back(padded_.rows * columns, std::numeric_limits<float>::quiet_NaN());
      for (int r = 0; r < run_.rows; ++r) {  // Outputs, too: a row whose token is not in a table keeps its old output.
        std::copy_n(run_.buffers[i].data + r * run_.buffers[i].row_stride, columns, &buffers_[i][r * columns]);
      }
      padded_.buffers[i] = {buffers_[i].data(), columns};
    }
  }

  void PadRopeTables() {
    for (int table = 0; table < graph_.needs.rope_tables; ++table) {
      int dimensions = 0;
      for (const Operator& op : graph_.graph.operators) {
        const Rope* const rope = std::get_if<Rope>(&op);
        if (rope != nullptr && rope->table == table) dimensions = rope->dimensions;
      }
      ropes_.emplace_back(run_.rope_tables[table], run_.rope_tables[table] + int64_t{run_.rows} * dimensions);
      ropes_.back().resize(int64_t{padded_.rows} * dimensions, 1.0f);
      // A table that no operator of this graph reads is handed on as it is.
      rope_pointers_.push_back(dimensions == 0 ? run_.rope_tables[table] : ropes_.back().data());
    }
    padded_.rope_tables = rope_pointers_;
  }

  // Pads the cache. Each missing row has a slot behind all others.
  void PadCache() {
    const KvView& kv = run_.kv;
    const int missing = padded_.rows - run_.rows, blocks = missing / KvView::kSlotsPerBlock + 1;
    const int slots = kv.slots() + blocks * KvView::kSlotsPerBlock;
    keys_ = *AlignedBuffer::Allocate(KvView::KeyBytes(kv.format(), kv.heads(), kv.head_size(), slots));
    values_ = *AlignedBuffer::Allocate(KvView::ValueBytes(kv.format(), kv.heads(), kv.head_size(), slots));
    padded_.kv = KvView(keys_.data(), values_.data(), kv.format(), kv.heads(), kv.head_size(), slots);
    for (int slot = 0; slot < kv.slots(); ++slot) CopySlot(kv, padded_.kv, slot);
    own_ranges_.reserve(missing);
    slots_.assign(run_.slots.begin(), run_.slots.end());
    paths_.assign(run_.paths.begin(), run_.paths.end());
    for (int i = 0; i < missing; ++i) {
      own_ranges_.push_back({kv.slots() + i, 1});
      slots_.push_back(own_ranges_.back().begin);
      paths_.push_back({&own_ranges_.back(), 1});
    }
    padded_.slots = slots_;
    padded_.paths = paths_;
  }

  // Copies a slot of layer 0 alone: a block of a model has one layer.
  template <typename T>
  static void CopySlotAs(const KvView& from, const KvView& to, int slot) {
    for (int head = 0; head < from.heads(); ++head) {
      for (int d = 0; d < from.head_size(); ++d) {
        to.Keys<T>(0, head)[to.KeyIndex(slot, d)] = from.Keys<T>(0, head)[from.KeyIndex(slot, d)];
      }
      const int64_t stride = KvView::ValueStride(from.head_size());
      std::copy_n(from.Values<T>(0, head) + slot * stride, stride, to.Values<T>(0, head) + slot * stride);
    }
  }
  static void CopySlot(const KvView& from, const KvView& to, int slot) {
    if (from.format() == KvFormat::kHalf) return CopySlotAs<uint16_t>(from, to, slot);
    CopySlotAs<int8_t>(from, to, slot);
    for (int head = 0; head < from.heads(); ++head) {
      to.KeyScales(0, head)[slot] = from.KeyScales(0, head)[slot];
      to.ValueScales(0, head)[slot] = from.ValueScales(0, head)[slot];
    }
  }

  const CompiledGraph& graph_;
  const RunArguments& run_;
  RunArguments padded_;
  std::vector<std::vector<float>> buffers_, ropes_;
  std::vector<const float*> rope_pointers_;
  std::vector<int32_t> tokens_, slots_;
  std::vector<SlotPath> paths_;
  std::vector<SlotRange> own_ranges_;
  std::vector<const AdapterProduct*> adapters_;
  AlignedBuffer keys_, values_;
};

class StaticDevice : public Device {
 public:
  struct Options {
    HostDevice::Options host = {};
    int graphs = 2;                // Most at once.
    int64_t load_nanos = 100'000;  // The time of loading, as in CostOf.
  };
  explicit StaticDevice(const Options& options) : options_(options), thread_([this] { Work(); }) {}
  ~StaticDevice() override {
    CHECK_EQ(loaded_, 0) << "graphs that outlive their device";
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int64_t loads() const { return loads_; }             // So far.
  int64_t loads_ahead() const { return loads_ahead_; }  // The number of loads while a graph ran.
  int64_t padded_rows() const { return padded_rows_; }
  int most_loaded() const { return most_loaded_; }

  absl::string_view name() const override { return "static"; }
  WeightEncoding weight_encoding() const override { return WeightEncoding::kPacked; }
  KvFormat kv_format() const override { return options_.host.kv_format; }
  RowPolicy row_policy() const override { return RowPolicy::kExact; }
  GraphLimits limits() const override { return {.graphs = options_.graphs}; }
  LoadCost CostOf(const CompiledGraph& graph) const override {
    return {.bytes = graph.arena_bytes, .seconds = static_cast<double>(options_.load_nanos) * 1e-9};
  }
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    ThreadPool pool(1);
    return HostDevice(pool, options_.host).ScratchBytes(graphs, longest_path);
  }

  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override {
    if (loaded_ == options_.graphs) {
      return absl::ResourceExhaustedError(absl::StrCat("graphs: found ", loaded_ + 1, ", expected at most ", options_.graphs));
    }
    Dawdle(100);   // The run of another graph goes on.
    ++loads_;
    if (waited_for_) ++loads_ahead_;
    most_loaded_ = std::max(most_loaded_, ++loaded_);
    return std::make_unique<Loaded>(*this, graph);
  }

  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override {
    CHECK(!waited_for_) << "a run that was not waited for";
    Loaded& own = static_cast<Loaded&>(graph);
    CHECK(&own.device == this);
    RETURN_IF_ERROR(CheckArguments(own.compiled, weight_encoding(), kv_format(), arguments));
    waited_for_ = true;
    const std::lock_guard<std::mutex> lock(mutex_);
    graph_ = &own;
    arguments_ = &arguments;
    changed_.notify_all();
    return absl::OkStatus();
  }

  absl::Status Wait() override {
    CHECK(waited_for_) << "no run to wait for";
    waited_for_ = false;
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return graph_ == nullptr; });
    return status_;
  }

 private:
  // Each loaded graph has its own device below, so that one is loaded while another runs.
  struct Loaded : LoadedGraph {
    Loaded(StaticDevice& its_device, const CompiledGraph& graph)
        : device(its_device), compiled(graph), below(pool, device.options_.host), loaded(*below.Load(graph)) {}
    ~Loaded() override {
      const std::lock_guard<std::mutex> lock(device.mutex_);
      CHECK(device.graph_ != this) << "a graph that ends while it runs";
      --device.loaded_;
    }
    int64_t bytes() const override { return compiled.arena_bytes; }
    int rows() const override { return compiled.row_capacity; }

    StaticDevice& device;
    const CompiledGraph compiled;
    ThreadPool pool{1};
    HostDevice below;
    const std::unique_ptr<LoadedGraph> loaded;
  };

  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || graph_ != nullptr; });
      if (stop_) return;
      lock.unlock();
      const absl::Status status = RunPadded(*graph_, *arguments_);
      lock.lock();
      status_ = status;
      graph_ = nullptr;
      changed_.notify_all();
    }
  }

  absl::Status RunPadded(Loaded& graph, const RunArguments& arguments) {
    if (arguments.rows == 0) return absl::OkStatus();
    const PaddedRun padded(graph.compiled, arguments);
    RETURN_IF_ERROR(graph.below.Run(*graph.loaded, padded.arguments()));
    padded.HandOn();
    padded_rows_ += graph.compiled.row_capacity - arguments.rows;
    return absl::OkStatus();
  }

  const Options options_;
  int loaded_ = 0, most_loaded_ = 0;
  int64_t loads_ = 0, loads_ahead_ = 0;
  bool waited_for_ = false;                 // A run is submitted and not waited for.
  std::atomic<int64_t> padded_rows_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  Loaded* graph_ = nullptr;                 // The graph that runs, or is about to run.
  const RunArguments* arguments_ = nullptr;
  absl::Status status_;                     // The status of the last run.
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera
