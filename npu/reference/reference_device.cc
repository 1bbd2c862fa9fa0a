#include "tessera/npu/reference/reference_device.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/functional/function_ref.h"
#include "tessera/base/status_macros.h"
#include "tessera/tensor/reference_ops.h"

namespace tessera {
namespace {

// Keys and values of one head, as rows in order of position.
struct GatheredHead {
  std::vector<float> keys;
  std::vector<float> values;
};

// The positions from `first` on of a path.
void Gather(const KvView& kv, int layer, int head, SlotPath path, int64_t first, GatheredHead& out) {
  const float* keys = kv.Keys<float>(layer, head);
  const float* values = kv.Values<float>(layer, head);
  out.keys.clear();
  out.values.clear();
  int64_t position = 0;
  for (const SlotRange& range : path) {
    if (range.begin == kNoSlot) {  // All such positions come before the first attended position.
      position += range.count;
      continue;
    }
    for (int slot = range.begin; slot < range.begin + range.count; ++slot) {
      if (position++ < first) continue;
      for (int d = 0; d < kv.head_size(); ++d) {
        out.keys.push_back(keys[kv.KeyIndex(slot, d)]);
        out.values.push_back(values[kv.ValueIndex(slot, d)]);
      }
    }
  }
}

// Numbers of an adapter in FP32.
std::vector<float> Widened(const void* numbers, BlockFormat format, int64_t count) {
  std::vector<float> widened(static_cast<size_t>(count));
  InfoOf(format).dequantize(static_cast<const std::byte*>(numbers), count, widened.data());
  return widened;
}

// One Run: the memory of each buffer, and one function for each kind of operator.
class GraphRun {
 public:
  GraphRun(const Graph& graph, const RunArguments& arguments, std::vector<std::vector<float>>& scratch, ThreadPool* pool,
           const ReferenceDevice::Options& options);

  void operator()(const RmsNorm& op) const { reference::RmsNorm(In(op.x), Vector(op.weight), op.epsilon, op.groups, Out(op.y)); }
  void operator()(const Linear& op) const {
    for (const Product& product : op.products) RunProduct(op.x, product);
  }
  void operator()(const AddBias& op) const { reference::AddBias(In(op.x), Vector(op.weight), Out(op.y)); }
  void operator()(const Add& op) const { reference::Add(In(op.a), In(op.b), Out(op.y)); }
  void operator()(const GatedActivation& op) const {
    const auto gated = op.activation == Activation::kSilu ? reference::GatedSilu : reference::GatedGeluTanh;
    gated(In(op.gate), In(op.up), Out(op.y));
  }
  void operator()(const Rope& op) const {
    const TensorView<const float> cos_sin(arguments_.rope_tables[op.table], arguments_.rows, op.dimensions);
    const auto rope = op.pairs == RopePairs::kAdjacent ? reference::RopeAdjacent : reference::RopeHalves;
    rope(In(op.x), op.heads, cos_sin, Out(op.y));
  }
  void operator()(const StoreKeyValue& op) const;
  void operator()(const Attention& op) const;
  void operator()(const Embedding& op) const;

 private:
  TensorView<const float> In(BufferId id) const { return buffers_[id]; }
  TensorView<float> Out(BufferId id) const { return buffers_[id]; }
  absl::Span<const float> Vector(WeightId id) const {
    return {reinterpret_cast<const float*>(arguments_.weights[id].data()),
            static_cast<size_t>(graph_.weights[id].spec.out_features)};
  }
  TensorView<const float> Matrix(WeightId id) const {
    const MatrixSpec& spec = graph_.weights[id].spec;
    return {reinterpret_cast<const float*>(arguments_.weights[id].data()), spec.out_features, spec.in_features};
  }
  void RunProduct(BufferId x, const Product& product) const;
  void AddBiasTo(const Product& product) const;
  void AddAdapters(BufferId x, const Product& product) const;
  void AttendRow(const Attention& op, int row, GatheredHead& gathered) const;
  void ForEachShare(int64_t items, absl::FunctionRef<void(int64_t begin, int64_t end)> body) const;

  const Graph& graph_;
  const RunArguments& arguments_;
  ThreadPool* pool_;
  const ReferenceDevice::Options& options_;
  std::vector<TensorView<float>> buffers_;
};

GraphRun::GraphRun(const Graph& graph, const RunArguments& arguments, std::vector<std::vector<float>>& scratch, ThreadPool* pool,
                   const ReferenceDevice::Options& options)
    : graph_(graph), arguments_(arguments), pool_(pool), options_(options) {
  if (scratch.size() < graph.buffers.size()) scratch.resize(graph.buffers.size());
  const BoundBuffer* external = arguments.buffers.data();
  for (size_t i = 0; i < graph.buffers.size(); ++i) {
    const GraphBuffer& buffer = graph.buffers[i];
    if (buffer.kind == BufferKind::kScratch) {
      scratch[i].assign(arguments.rows * buffer.columns, 0.0f);
      buffers_.emplace_back(scratch[i].data(), arguments.rows, buffer.columns);
    } else {
      buffers_.emplace_back(external->data, arguments.rows, buffer.columns, external->row_stride);
      ++external;
    }
  }
}

void GraphRun::ForEachShare(int64_t items, absl::FunctionRef<void(int64_t begin, int64_t end)> body) const {
  if (pool_ == nullptr) return body(0, items);
  pool_->Run([&](int worker) {
    const Share share = ShareOf(items, worker, pool_->threads());
    body(share.begin, share.end);
  });
}

void GraphRun::RunProduct(BufferId x, const Product& product) const {
  const TensorView<const float> w = Matrix(product.weight);
  const TensorView<float> y = Out(product.y);
  if (options_.observe) {
    const size_t weight = static_cast<size_t>(product.weight);
    options_.observe({.weight = graph_.weights[weight], .bytes = arguments_.weights[weight], .x = In(x)});
  }
  ForEachShare(w.rows(), [&](int64_t begin, int64_t end) {
    const TensorView<float> part(y.data() + product.first_column + begin, y.rows(), end - begin, y.row_stride());
    reference::MatMul(w.Rows(begin, end - begin), In(x), part);
  });
  if (product.bias != kNone) AddBiasTo(product);
  if (product.adapter != kNone) AddAdapters(x, product);
}

// The columns of one product.
void GraphRun::AddBiasTo(const Product& product) const {
  const int64_t outputs = graph_.weights[product.weight].spec.out_features;
  const TensorView<float> y = Out(product.y);
  const TensorView<float> part(y.data() + product.first_column, y.rows(), outputs, y.row_stride());
  reference::AddBias(part, Vector(product.bias).subspan(static_cast<size_t>(product.first_column), static_cast<size_t>(outputs)), part);
}

void GraphRun::AddAdapters(BufferId x, const Product& product) const {
  const TensorView<const float> w = Matrix(product.weight);
  const int64_t outputs = Out(product.y).columns();
  for (size_t r = 0; r < arguments_.adapters.size(); ++r) {
    if (arguments_.adapters[r] == nullptr) continue;
    const AdapterProduct& adapter = arguments_.adapters[r][product.adapter];
    if (adapter.a == nullptr) continue;
    const std::vector<float> a = Widened(adapter.a, adapter.format, adapter.rank * w.columns());
    const std::vector<float> b = Widened(adapter.b, adapter.format, adapter.rank * outputs);
    reference::AddLowRank({a.data(), adapter.rank, w.columns()}, {b.data() + product.first_column, adapter.rank, w.rows(), outputs},
                          adapter.scale,
                          {In(x).row(r), static_cast<size_t>(w.columns())},
                          {Out(product.y).row(r) + product.first_column, static_cast<size_t>(w.rows())});
  }
}

void GraphRun::operator()(const StoreKeyValue& op) const {
  const KvView& kv = arguments_.kv;
  for (int r = 0; r < arguments_.rows; ++r) {
    const int slot = arguments_.slots[r];
    for (int head = 0; head < kv.heads(); ++head) {
      const float* key = In(op.key).row(r) + static_cast<int64_t>(head) * kv.head_size();
      const float* value = In(op.value).row(r) + static_cast<int64_t>(head) * kv.head_size();
      for (int d = 0; d < kv.head_size(); ++d) {
        kv.Keys<float>(op.layer, head)[kv.KeyIndex(slot, d)] = key[d];
        kv.Values<float>(op.layer, head)[kv.ValueIndex(slot, d)] = value[d];
      }
    }
  }
}

void GraphRun::operator()(const Attention& op) const {
  ForEachShare(arguments_.rows, [&](int64_t begin, int64_t end) {
    GatheredHead gathered;
    for (int64_t r = begin; r < end; ++r) AttendRow(op, static_cast<int>(r), gathered);
  });
}

void GraphRun::AttendRow(const Attention& op, int row, GatheredHead& gathered) const {
  const KvView& kv = arguments_.kv;
  const SlotPath path = arguments_.paths[row];
  const int64_t length = PathLength(path);
  const int64_t first = op.window > 0 ? std::max<int64_t>(0, length - op.window) : 0;
  const int64_t group = op.heads / kv.heads();  // Query heads that share a key/value head.
  for (int head = 0; head < kv.heads(); ++head) {
    Gather(kv, op.layer, head, path, first, gathered);
    const int64_t offset = head * group * kv.head_size();
    reference::Attend(
        {In(op.query).row(row) + offset, group, kv.head_size()}, {gathered.keys.data(), length - first, kv.head_size()},
        {gathered.values.data(), length - first, kv.head_size()}, op.scale, {Out(op.y).row(row) + offset, group, kv.head_size()});
  }
}

void GraphRun::operator()(const Embedding& op) const {
  const TensorView<const float> table = Matrix(op.table);
  const size_t columns = static_cast<size_t>(table.columns());
  for (int r = 0; r < arguments_.rows; ++r) {
    const int64_t index = arguments_.tokens[r] - op.first_token;
    if (index < 0 || index >= table.rows()) continue;
    reference::Scale({table.row(index), columns}, op.scale, {Out(op.y).row(r), columns});
  }
}

class ReferenceGraph : public LoadedGraph {
 public:
  explicit ReferenceGraph(const CompiledGraph& compiled) : compiled_(compiled) {}
  int64_t bytes() const override { return DescriptionBytes(compiled_); }
  int rows() const override { return compiled_.row_capacity; }
  const CompiledGraph& compiled() const { return compiled_; }

 private:
  const CompiledGraph compiled_;
};

}  // namespace

LoadCost ReferenceDevice::CostOf(const CompiledGraph& graph) const { return {.bytes = DescriptionBytes(graph)}; }

absl::StatusOr<std::unique_ptr<LoadedGraph>> ReferenceDevice::Load(const CompiledGraph& graph) {
  return std::make_unique<ReferenceGraph>(graph);
}

absl::Status ReferenceDevice::Submit(LoadedGraph& graph, const RunArguments& arguments) {
  const CompiledGraph& compiled = static_cast<const ReferenceGraph&>(graph).compiled();
  RETURN_IF_ERROR(CheckArguments(compiled, weight_encoding(), kv_format(), arguments));
  if (arguments.rows == 0) return absl::OkStatus();
  const GraphRun run(compiled.graph, arguments, scratch_, pool_, options_);
  for (const Operator& op : compiled.graph.operators) std::visit(run, op);
  return absl::OkStatus();
}

// Buffers with the same number are shared by all graphs, and a vector keeps its largest size.
int64_t ReferenceDevice::ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int /*longest_path*/) const {
  std::vector<int64_t> largest;
  for (const CompiledGraph* const compiled : graphs) {
    const std::vector<GraphBuffer>& buffers = compiled->graph.buffers;
    largest.resize(std::max(largest.size(), buffers.size()), 0);
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind == BufferKind::kScratch) largest[i] = std::max<int64_t>(largest[i], compiled->row_capacity * buffers[i].columns);
    }
  }
  return std::accumulate(largest.begin(), largest.end(), int64_t{0}) * static_cast<int64_t>(sizeof(float));
}

}  // namespace tessera
