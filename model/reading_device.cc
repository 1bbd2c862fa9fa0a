#include "tessera/model/reading_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {

// A graph of the other device, with the graph's pack if the graph holds weights.
class ReadingDevice::Graph : public LoadedGraph {
 public:
  explicit Graph(std::unique_ptr<LoadedGraph> its_numbers) : numbers(std::move(its_numbers)) {}
  ~Graph() override {
    if (pack == nullptr) return;
    load.reset();
    device->held_bytes_ -= pack->bytes;
    pack->free_places.push_back(place);
  }
  int64_t bytes() const override { return numbers->bytes() + (pack == nullptr ? 0 : pack->bytes); }
  int rows() const override { return numbers->rows(); }
  bool is_ready() const override { return numbers->is_ready() && (load == nullptr || load->is_ready()); }

  const std::unique_ptr<LoadedGraph> numbers;
  ReadingDevice* device = nullptr;            // These members are set
  Pack* pack = nullptr;                       // if the graph
  int64_t place = 0;                          // holds weights.
  std::unique_ptr<PartLoader::Load> load;
};

ReadingDevice::ReadingDevice(Device& numbers, const TsrReader& file, const CompiledModel& model, Options options)
    : numbers_(numbers), packs_(model.variants().size()), unit_is_held_(static_cast<size_t>(file.units())),
      loader_(file, std::move(options.reading)) {
  for (size_t b = 0; b < packs_.size(); ++b) {
    const int block = static_cast<int>(b), layer = model.LayerOf(block);
    if (layer < 0 || layer >= model.layers()) continue;
    Pack& pack = packs_[b];
    for (const TensorPart& part : model.block(block).parts) pack.parts.push_back({part.unit, part.offset, part.bytes});
    for (const int unit : model.block(block).units) unit_is_held_[static_cast<size_t>(unit)] = true;
    pack.bytes = loader_.BytesOf(pack.parts);
    const size_t graphs = options.one_graph_of_each_block ? 1 : model.variants()[b].size();
    for (size_t i = 0; i < graphs; ++i, memory_bytes_ += pack.bytes) pack.free_places.push_back(memory_bytes_);
  }
}

ReadingDevice::~ReadingDevice() { CHECK_EQ(held_bytes_, 0) << "graphs that outlive their device"; }

bool ReadingDevice::HoldsWeights(int block) const {
  return block >= 0 && block < static_cast<int>(packs_.size()) && !packs_[static_cast<size_t>(block)].parts.empty();
}

LoadCost ReadingDevice::CostOfBlock(int block, const CompiledGraph& graph) const {
  LoadCost cost = numbers_.CostOf(graph);
  if (!HoldsWeights(block)) return cost;
  const int64_t bytes = packs_[static_cast<size_t>(block)].bytes;
  const double speed = loader_.stats().bytes_per_second();
  cost.bytes += bytes;
  if (speed > 0) cost.seconds += static_cast<double>(bytes) / speed;
  return cost;
}

absl::StatusOr<std::unique_ptr<LoadedGraph>> ReadingDevice::Load(const CompiledGraph& graph) {
  ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> numbers, numbers_.Load(graph));
  return std::make_unique<Graph>(std::move(numbers));
}

absl::StatusOr<std::unique_ptr<LoadedGraph>> ReadingDevice::LoadBlock(int block, const CompiledGraph& graph) {
  if (!HoldsWeights(block)) return Load(graph);
  Pack& pack = packs_[static_cast<size_t>(block)];
  if (pack.free_places.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("graph of block ", block, " for ", graph.row_capacity,
                                                     " rows: found no memory for another graph of the block, expected one to be unloaded"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> numbers, numbers_.Load(graph));
  auto loaded = std::make_unique<Graph>(std::move(numbers));
  loaded->device = this;
  loaded->pack = &pack;
  loaded->place = pack.free_places.back();
  pack.free_places.pop_back();
  held_bytes_ += pack.bytes;
  most_held_bytes_ = std::max(most_held_bytes_, held_bytes_);
  loaded->load = loader_.Begin(pack.parts, loaded->place, /*detail=*/graph.row_capacity);
  return loaded;
}

void ReadingDevice::SetRecording(bool on) {
  loader_.SetRecording(on);
  numbers_.SetRecording(on);
}

absl::Status ReadingDevice::Submit(LoadedGraph& loaded, const RunArguments& arguments) {
  const Graph& graph = static_cast<const Graph&>(loaded);
  if (graph.load == nullptr) return numbers_.Submit(*graph.numbers, arguments);
  ASSIGN_OR_RETURN(const auto weights, graph.load->Await());
  arguments_ = arguments;
  arguments_.weights = weights;
  return numbers_.Submit(*graph.numbers, arguments_);
}

}  // namespace tessera
