// A device whose graphs of layers hold their weights: loading such a graph reads them from a packed file, past the page cache, while others
// run. Another device computes.
//
//   HostDevice numbers(pool);
//   ReadingDevice device(numbers, *file, model, {});          // a TsrReader, and a CompiledModel of that file's layout
//   GraphStore store(device, model.variants());               // npu/graph_store.h
//   RETURN_IF_ERROR(store.Switch(model.layer(0), /*rows=*/256));   // will be read
//   RETURN_IF_ERROR(device.Start());                          // from here on loads are read, in the order in which they were asked for
//   RETURN_IF_ERROR(store.Run({model.layer(0), 256}, arguments));  // waits for its graph; arguments have no weights
//
// Bits are those of the other device. Embeddings, norm and head hold no weights: those come with the arguments, as elsewhere. All packs
// (a pack: the weights of one graph) lie in one memory, which has room for one pack of each block, or for one of each of a block's graphs;
// so there is never more in memory than memory_bytes(). A run whose graph's weights cannot be read has the error of PartLoader, and the
// next run of it reads them again. Before Start nothing is read or allocated, and runs of layers are FailedPrecondition. Threads: those of
// Device, and one that reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/model/compiled_model.h"
#include "tessera/npu/device.h"
#include "tessera/storage/part_loader.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

class ReadingDevice : public Device {
 public:
  struct Options {
    // Each block has one graph at a time, as where graphs change places; else all its graphs at once.
    bool one_graph_of_each_block = true;
    PartLoader::Options reading = {};
  };
  // The other device and the file must outlive this one, which keeps nothing of the model. REQUIRES: the file's units are those of the
  // layout that the model was compiled for (ModelFile::HoldsUnitsOf).
  ReadingDevice(Device& numbers, const TsrReader& file, const CompiledModel& model, Options options);
  ~ReadingDevice() override;

  int64_t memory_bytes() const { return memory_bytes_; }   // Where packs lie.
  bool HoldsUnit(int unit) const { return unit_is_held_[static_cast<size_t>(unit)]; }   // Graphs read it, or some of it.
  // The errors of PartLoader::Start.
  absl::Status Start() { return loader_.Start(memory_bytes_); }
  // As PartLoader::AwaitAll.
  absl::Status AwaitLoads() { return loader_.AwaitAll(); }
  PartLoader::Stats stats() const { return loader_.stats(); }
  const PartLoader& loader() const { return loader_; }
  int64_t held_bytes() const { return held_bytes_; }           // Packs of graphs that are loaded now, or being loaded,
  int64_t most_held_bytes() const { return most_held_bytes_; }   // and at most so far.

  absl::string_view name() const override { return numbers_.name(); }
  Resource resource() const override { return numbers_.resource(); }
  double LoadWaitSeconds() const override { return static_cast<double>(stats().waited_nanos) * 1e-9; }
  WeightEncoding weight_encoding() const override { return numbers_.weight_encoding(); }
  KvFormat kv_format() const override { return numbers_.kv_format(); }
  RowPolicy row_policy() const override { return numbers_.row_policy(); }
  GraphLimits limits() const override { return numbers_.limits(); }
  LoadCost CostOf(const CompiledGraph& graph) const override { return numbers_.CostOf(graph); }
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    return numbers_.ScratchBytes(graphs, longest_path);
  }
  // A graph that holds no weights.
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override;

  bool HoldsWeights(int block) const override;
  LoadCost CostOfBlock(int block, const CompiledGraph& graph) const override;
  absl::StatusOr<std::unique_ptr<LoadedGraph>> LoadBlock(int block, const CompiledGraph& graph) override;
  void SplitLoads() override { numbers_.SplitLoads(); }
  void SetRecording(bool on) override;
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override;
  absl::Status Wait() override { return numbers_.Wait(); }

 private:
  class Graph;
  // What the graphs of a block read; empty: they hold no weights.
  struct Pack {
    std::vector<UnitPart> parts;        // By graph weight.
    int64_t bytes = 0;
    std::vector<int64_t> free_places;   // Places of the memory, for one graph each.
  };

  Device& numbers_;
  std::vector<Pack> packs_;             // By block.
  std::vector<bool> unit_is_held_;
  int64_t memory_bytes_ = 0;
  int64_t held_bytes_ = 0, most_held_bytes_ = 0;
  RunArguments arguments_;              // Those of the run under way, with the graph's own weights.
  PartLoader loader_;
};

}  // namespace tessera
