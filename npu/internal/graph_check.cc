#include "tessera/npu/internal/graph_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kUnwritten = -1;      // Else the index of the operator that wrote a buffer,
constexpr int kFromCaller = -2;     // or this for inputs.
constexpr int kMaxRopeTables = 64;  // A model has one or two tables; the limit bounds the memory that a wrong number can allocate.
constexpr int kMaxAdapters = 65536;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckRange(const char* what, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return Invalid(what, ": found ", found, ", expected ", least, " to ", most);
}

absl::Status CheckAtLeast(const char* what, int64_t found, int64_t least) {
  if (found >= least) return absl::OkStatus();
  return Invalid(what, ": found ", found, ", expected >= ", least);
}

absl::Status CheckFinite(const char* what, float found) {
  if (std::isfinite(found)) return absl::OkStatus();
  return Invalid(what, ": found ", found, ", expected a finite number");
}

// Parts of equal size that a row of `columns` falls into.
absl::Status CheckParts(const char* what, int parts, int64_t columns) {
  if (parts >= 1 && columns % parts == 0) return absl::OkStatus();
  return Invalid(what, ": found ", parts, ", expected a divisor of the ", columns, " columns");
}

// Visits the operators in order and keeps the facts that earlier operators have established.
class GraphChecker {
 public:
  explicit GraphChecker(const Graph& graph)
      : graph_(graph), writer_(graph.buffers.size(), kUnwritten), read_(graph.buffers.size(), false) {}

  absl::Status Check();

  // One for each kind of operator. The errors lack the operator's name; Check adds the name in front.
  absl::Status operator()(const RmsNorm& op);
  absl::Status operator()(const Linear& op);
  absl::Status operator()(const AddBias& op);
  absl::Status operator()(const Add& op);
  absl::Status operator()(const GatedActivation& op);
  absl::Status operator()(const Rope& op);
  absl::Status operator()(const StoreKeyValue& op);
  absl::Status operator()(const Attention& op);
  absl::Status operator()(const Embedding& op);

 private:
  struct Shape { int64_t out = 0; int64_t in = 0; };
  struct ColumnRange { BufferId buffer; int64_t begin; int64_t end; };

  absl::Status CheckBuffers();
  absl::Status CheckWeights() const;
  absl::Status CheckAllWritten() const;

  absl::Status Exists(const char* role, BufferId id) const;
  absl::Status Reads(const char* role, BufferId id);
  absl::Status Reads(const char* role, BufferId id, int64_t expected_columns);
  absl::Status Writes(const char* role, BufferId id);
  absl::Status Writes(const char* role, BufferId id, int64_t expected_columns);
  absl::Status HasColumns(const char* role, BufferId id, int64_t expected) const;
  absl::Status HasWeight(const char* role, WeightId id, bool vector) const;
  absl::Status HasVector(const char* role, WeightId id, int64_t size) const;
  absl::Status CheckProduct(const Product& product, int64_t x_columns);
  absl::Status CheckAdapter(const Product& product);
  absl::Status CheckCovered(const Linear& op) const;
  absl::Status CheckHeads() const;

  int64_t columns(BufferId id) const { return graph_.buffers[id].columns; }
  const MatrixSpec& spec(WeightId id) const { return graph_.weights[id].spec; }
  std::string Named(const char* role, BufferId id) const {
    return absl::StrCat(role, ": buffer \"", graph_.buffers[id].name, "\"");
  }

  const Graph& graph_;
  std::vector<int> writer_;
  std::vector<bool> read_;
  std::vector<Shape> adapter_shapes_;
  int rope_dimensions_[kMaxRopeTables] = {};  // Per table; 0: not used yet.
  int64_t key_columns_ = 0;                   // 0: no StoreKeyValue yet.
  int64_t head_size_ = 0;                     // 0: no Attention yet.
  int index_ = 0;
};

absl::Status GraphChecker::Check() {
  RETURN_IF_ERROR(CheckRange("adapters", graph_.adapters, 0, kMaxAdapters));
  adapter_shapes_.resize(graph_.adapters);
  RETURN_IF_ERROR(CheckBuffers());
  RETURN_IF_ERROR(CheckWeights());
  for (const Operator& op : graph_.operators) {
    const absl::Status status = std::visit([this](const auto& typed) { return (*this)(typed); }, op);
    if (!status.ok()) return Invalid("operator ", index_, " (", OperatorName(op), "): ", status.message());
    ++index_;
  }
  return CheckAllWritten();
}

absl::Status GraphChecker::CheckBuffers() {
  for (size_t i = 0; i < graph_.buffers.size(); ++i) {
    const GraphBuffer& buffer = graph_.buffers[i];
    if (buffer.columns < 1) {
      return Invalid("buffer ", i, " \"", buffer.name, "\": columns: found ", buffer.columns, ", expected >= 1");
    }
    if (buffer.kind == BufferKind::kInput) writer_[i] = kFromCaller;
  }
  return absl::OkStatus();
}

absl::Status GraphChecker::CheckWeights() const {
  for (size_t i = 0; i < graph_.weights.size(); ++i) {
    const MatrixSpec& spec = graph_.weights[i].spec;
    if (!graph_.weights[i].vector) {
      const absl::StatusOr<int64_t> bytes = WeightBytes(graph_.weights[i], WeightEncoding::kTiles);   // Without a scheme: in panels.
      if (!bytes.ok()) return absl::Status(bytes.status().code(), absl::StrCat("weight ", i, ": ", bytes.status().message()));
    } else if (spec.out_features < 1 || spec.in_features != 1 || spec.format != BlockFormat::kF32) {
      return Invalid("weight ", i, " \"", spec.name, "\": found a vector of ", InfoOf(spec.format).name, " [", spec.out_features,
                     ", ", spec.in_features, "], expected F32 [size, 1] with size >= 1");
    }
  }
  return absl::OkStatus();
}

absl::Status GraphChecker::CheckAllWritten() const {
  for (size_t i = 0; i < writer_.size(); ++i) {
    if (writer_[i] == kUnwritten) return Invalid("buffer ", i, " \"", graph_.buffers[i].name, "\": no operator writes it");
  }
  return absl::OkStatus();
}

absl::Status GraphChecker::Exists(const char* role, BufferId id) const {
  if (id >= 0 && id < static_cast<int>(graph_.buffers.size())) return absl::OkStatus();
  return Invalid(role, ": found buffer ", id, ", but the graph has ", graph_.buffers.size());
}

absl::Status GraphChecker::Reads(const char* role, BufferId id) {
  RETURN_IF_ERROR(Exists(role, id));
  if (writer_[id] == kUnwritten) return Invalid(Named(role, id), " is read before it is written");
  read_[id] = true;
  return absl::OkStatus();
}

absl::Status GraphChecker::Reads(const char* role, BufferId id, int64_t expected_columns) {
  RETURN_IF_ERROR(Reads(role, id));
  return HasColumns(role, id, expected_columns);
}

// Records a write. An operator calls Writes after all its Reads, so that no operator can read its own output.
absl::Status GraphChecker::Writes(const char* role, BufferId id) {
  RETURN_IF_ERROR(Exists(role, id));
  if (writer_[id] == kFromCaller) return Invalid(Named(role, id), " is an input, and inputs are never written");
  if (writer_[id] != kUnwritten) return Invalid(Named(role, id), " is written twice, first by operator ", writer_[id]);
  writer_[id] = index_;
  return absl::OkStatus();
}

absl::Status GraphChecker::Writes(const char* role, BufferId id, int64_t expected_columns) {
  RETURN_IF_ERROR(Writes(role, id));
  return HasColumns(role, id, expected_columns);
}

absl::Status GraphChecker::HasColumns(const char* role, BufferId id, int64_t expected) const {
  if (columns(id) == expected) return absl::OkStatus();
  return Invalid(Named(role, id), ": columns: found ", columns(id), ", expected ", expected);
}

absl::Status GraphChecker::HasWeight(const char* role, WeightId id, bool vector) const {
  const int count = static_cast<int>(graph_.weights.size());
  if (id < 0 || id >= count) return Invalid(role, ": found weight ", id, ", but the graph has ", count);
  if (graph_.weights[id].vector == vector) return absl::OkStatus();
  return Invalid(role, ": weight \"", spec(id).name, "\": found a ",
                 vector ? "matrix, expected a vector" : "vector, expected a matrix");
}

absl::Status GraphChecker::HasVector(const char* role, WeightId id, int64_t size) const {
  RETURN_IF_ERROR(HasWeight(role, id, /*vector=*/true));
  if (spec(id).out_features == size) return absl::OkStatus();
  return Invalid(role, ": weight \"", spec(id).name, "\": size: found ", spec(id).out_features, ", expected ", size);
}

absl::Status GraphChecker::operator()(const RmsNorm& op) {
  RETURN_IF_ERROR(Reads("x", op.x));
  if (!(op.epsilon > 0) || !std::isfinite(op.epsilon)) {
    return Invalid("epsilon: found ", op.epsilon, ", expected a finite number > 0");
  }
  RETURN_IF_ERROR(CheckParts("groups", op.groups, columns(op.x)));
  RETURN_IF_ERROR(HasVector("weight", op.weight, columns(op.x) / op.groups));
  return Writes("y", op.y, columns(op.x));
}

absl::Status GraphChecker::operator()(const Linear& op) {
  RETURN_IF_ERROR(Reads("x", op.x));
  if (op.products.empty()) return Invalid("products: found none, expected at least one");
  for (size_t i = 0; i < op.products.size(); ++i) {
    const absl::Status status = CheckProduct(op.products[i], columns(op.x));
    if (!status.ok()) return Invalid("product ", i, ": ", status.message());
  }
  return CheckCovered(op);
}

absl::Status GraphChecker::CheckProduct(const Product& product, int64_t x_columns) {
  RETURN_IF_ERROR(HasWeight("weight", product.weight, /*vector=*/false));
  if (product.bias != kNone) return Invalid("bias: found weight ", product.bias, ", expected none: an AddBias");
  const MatrixSpec& matrix = spec(product.weight);
  if (matrix.in_features != x_columns) {
    return Invalid("weight \"", matrix.name, "\": in_features: found ", matrix.in_features, ", expected the ", x_columns,
                   " columns of x");
  }
  RETURN_IF_ERROR(Exists("y", product.y));
  if (writer_[product.y] != index_) RETURN_IF_ERROR(Writes("y", product.y));
  const int64_t room = columns(product.y) - matrix.out_features;  // Both are at least 1, so this cannot overflow.
  if (product.first_column < 0 || product.first_column > room) {
    return Invalid(Named("y", product.y), ": first_column: found ", product.first_column, " for ", matrix.out_features,
                   " outputs, expected room for them in ", columns(product.y), " columns");
  }
  return CheckAdapter(product);
}

// Checks an adapter's placeholder. A placeholder has no shape of its own: B covers all columns of y, A all of x. So products that share a
// placeholder must agree on both, for example the parts of a matrix that was cut into ranges of rows.
absl::Status GraphChecker::CheckAdapter(const Product& product) {
  if (product.adapter == kNone) return absl::OkStatus();
  if (product.adapter < 0 || product.adapter >= graph_.adapters) {
    return Invalid("adapter: found ", product.adapter, ", but the graph has ", graph_.adapters);
  }
  Shape& shape = adapter_shapes_[product.adapter];
  const int64_t out = columns(product.y), in = spec(product.weight).in_features;
  if (shape.out == 0) shape = {out, in};
  if (shape.out == out && shape.in == in) return absl::OkStatus();
  return Invalid("adapter ", product.adapter, ": found shape [", out, ", ", in, "], expected [",
                 shape.out, ", ", shape.in, "] as where it is used first");
}

// Every column of every buffer the products write is written by exactly one of them.
absl::Status GraphChecker::CheckCovered(const Linear& op) const {
  std::vector<ColumnRange> ranges;
  for (const Product& product : op.products) {
    ranges.push_back({product.y, product.first_column, product.first_column + spec(product.weight).out_features});
    // An empty range at the end of each buffer shows missing columns at the end as a gap.
    ranges.push_back({product.y, columns(product.y), columns(product.y)});
  }
  const auto before = [](const ColumnRange& a, const ColumnRange& b) {
    return a.buffer != b.buffer ? a.buffer < b.buffer : a.begin < b.begin;
  };
  std::sort(ranges.begin(), ranges.end(), before);
  ColumnRange written = {kNone, 0, 0};
  for (const ColumnRange& range : ranges) {
    if (range.buffer != written.buffer) written = {range.buffer, 0, 0};
    if (range.begin != written.end) {
      const bool gap = range.begin > written.end;
      return Invalid(Named("y", range.buffer), ": columns ", std::min(range.begin, written.end), " to ",
                     std::max(range.begin, written.end) - 1, gap ? " are written by no product" : " are written by two products");
    }
    written.end = range.end;
  }
  return absl::OkStatus();
}

absl::Status GraphChecker::operator()(const AddBias& op) {
  RETURN_IF_ERROR(Reads("x", op.x));
  RETURN_IF_ERROR(HasVector("weight", op.weight, columns(op.x)));
  return Writes("y", op.y, columns(op.x));
}

absl::Status GraphChecker::operator()(const Add& op) {
  RETURN_IF_ERROR(Reads("a", op.a));
  RETURN_IF_ERROR(Reads("b", op.b, columns(op.a)));
  return Writes("y", op.y, columns(op.a));
}

absl::Status GraphChecker::operator()(const GatedActivation& op) {
  RETURN_IF_ERROR(Reads("gate", op.gate));
  RETURN_IF_ERROR(Reads("up", op.up, columns(op.gate)));
  return Writes("y", op.y, columns(op.gate));
}

absl::Status GraphChecker::operator()(const Rope& op) {
  RETURN_IF_ERROR(Reads("x", op.x));
  RETURN_IF_ERROR(CheckParts("heads", op.heads, columns(op.x)));
  const int64_t head_size = columns(op.x) / op.heads;
  if (op.dimensions < 2 || op.dimensions % 2 != 0 || op.dimensions > head_size) {
    return Invalid("dimensions: found ", op.dimensions, ", expected an even number from 2 to the head size ", head_size);
  }
  RETURN_IF_ERROR(CheckRange("table", op.table, 0, kMaxRopeTables - 1));
  int& dimensions = rope_dimensions_[op.table];
  if (dimensions == 0) dimensions = op.dimensions;
  if (dimensions != op.dimensions) {
    return Invalid("dimensions: found ", op.dimensions, ", expected ", dimensions, " as where table ", op.table,
                   " is used first");
  }
  return Writes("y", op.y, columns(op.x));
}

absl::Status GraphChecker::operator()(const StoreKeyValue& op) {
  RETURN_IF_ERROR(Reads("key", op.key));
  RETURN_IF_ERROR(Reads("value", op.value, columns(op.key)));
  RETURN_IF_ERROR(CheckAtLeast("layer", op.layer, 0));
  if (key_columns_ == 0) key_columns_ = columns(op.key);
  RETURN_IF_ERROR(HasColumns("key", op.key, key_columns_));  // One KvView serves all layers of a graph.
  return CheckHeads();
}

absl::Status GraphChecker::operator()(const Attention& op) {
  RETURN_IF_ERROR(Reads("query", op.query));
  RETURN_IF_ERROR(CheckParts("heads", op.heads, columns(op.query)));
  RETURN_IF_ERROR(CheckAtLeast("layer", op.layer, 0));
  RETURN_IF_ERROR(CheckAtLeast("window", op.window, 0));
  RETURN_IF_ERROR(CheckFinite("scale", op.scale));
  if (head_size_ == 0) head_size_ = columns(op.query) / op.heads;
  RETURN_IF_ERROR(CheckRange("head size", columns(op.query) / op.heads, head_size_, head_size_));
  RETURN_IF_ERROR(CheckHeads());
  return Writes("y", op.y, columns(op.query));
}

absl::Status GraphChecker::CheckHeads() const {
  if (key_columns_ == 0 || head_size_ == 0 || key_columns_ % head_size_ == 0) return absl::OkStatus();
  return Invalid("key columns: found ", key_columns_, ", expected a multiple of the head size ", head_size_);
}

// Several tables may fill one buffer (a vocabulary cut in parts), as long as no operator has read the buffer.
absl::Status GraphChecker::operator()(const Embedding& op) {
  RETURN_IF_ERROR(HasWeight("table", op.table, /*vector=*/false));
  if (graph_.weights[op.table].tile.has_value()) return Invalid("table: found tiles, expected panels, whose rows can be read");
  RETURN_IF_ERROR(CheckAtLeast("first_token", op.first_token, 0));
  RETURN_IF_ERROR(CheckFinite("scale", op.scale));
  RETURN_IF_ERROR(Exists("y", op.y));
  const int writer = writer_[op.y];
  const bool partly_written = writer >= 0 && std::holds_alternative<Embedding>(graph_.operators[writer]);
  if (!partly_written) RETURN_IF_ERROR(Writes("y", op.y));
  if (partly_written && read_[op.y]) return Invalid(Named("y", op.y), " is written after it was read");
  return HasColumns("y", op.y, spec(op.table).in_features);
}

}  // namespace

absl::Status CheckGraph(const Graph& graph) { return GraphChecker(graph).Check(); }

}  // namespace tessera
