// A device whose layer graphs hold their weights. Loading such a graph reads the weights from a packed file, past the page cache, while
// other graphs run. Another device computes.
//
//   HostDevice numbers(pool);
//   ReadingDevice device(numbers, *file, model, {});          // a TsrReader, and a CompiledModel of that file's layout
//   GraphStore store(device, model.variants());               // npu/graph_store.h
//   RETURN_IF_ERROR(store.Switch(model.layer(0), /*rows=*/256));   // will be read
//   RETURN_IF_ERROR(device.Start());                          // from here on loads are read, in the order in which they were asked for
//   RETURN_IF_ERROR(store.Run({model.layer(0), 256}, arguments));  // waits for its graph; arguments have no weights
//
// Results have the bits of the other device. Graphs of embeddings, norm and head hold no weights: the weights come with the arguments, as
// on other devices. A pack is the weights of one graph. All packs lie in one memory, with room for one pack per block, or for one pack per
// graph of each block. Memory therefore never holds more than memory_bytes(). If a graph's weights cannot be read, the run returns the
// error of PartLoader, and the next run of the graph reads the weights again. Before Start nothing is read or allocated, and runs of layers
// return FailedPrecondition. Threads: as for Device, and one more thread that reads.
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
    // True: each block has one graph at a time, for graphs that change places. False: all graphs of a block at once.
    bool one_graph_of_each_block = true;
    PartLoader::Options reading = {};
  };
  // Makes the device. `numbers` and `file` must outlive this device, which keeps nothing of the model. REQUIRES: the file's units are the
  // units of the layout that the model was compiled for (ModelFile::HoldsUnitsOf).
  ReadingDevice(Device& numbers, const TsrReader& file, const CompiledModel& model, Options options);
  ~ReadingDevice() override;

  int64_t memory_bytes() const { return memory_bytes_; }   // Memory for packs.
  // True if graphs read the unit or a part of the unit.
  bool HoldsUnit(int unit) const { return unit_is_held_[static_cast<size_t>(unit)]; }
  // Returns the errors of PartLoader::Start.
  absl::Status Start() { return loader_.Start(memory_bytes_); }
  // Waits as PartLoader::AwaitAll does.
  absl::Status AwaitLoads() { return loader_.AwaitAll(); }
  PartLoader::Stats stats() const { return loader_.stats(); }
  const PartLoader& loader() const { return loader_; }
  int64_t held_bytes() const { return held_bytes_; }           // Packs of graphs that are loaded now, or being loaded,
  int64_t most_held_bytes() const { return most_held_bytes_; }   // and the maximum so far.

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
  // Loads a graph that holds no weights.
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
  // The weights that the graphs of a block read; empty: the graphs hold no weights.
  struct Pack {
    std::vector<UnitPart> parts;        // By graph weight.
    int64_t bytes = 0;
    std::vector<int64_t> free_places;   // Places in the memory, each for one graph.
  };

  Device& numbers_;
  std::vector<Pack> packs_;             // By block.
  std::vector<bool> unit_is_held_;
  int64_t memory_bytes_ = 0;
  int64_t held_bytes_ = 0, most_held_bytes_ = 0;
  RunArguments arguments_;              // Arguments of the current run, with the graph's own weights.
  PartLoader loader_;
};

}  // namespace tessera
