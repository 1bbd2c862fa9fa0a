#include "tessera/npu/graph.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

BufferId AddBuffer(Graph& graph, std::string name, BufferKind kind, int64_t columns) {
  graph.buffers.push_back({std::move(name), kind, columns});
  return static_cast<BufferId>(graph.buffers.size()) - 1;
}

WeightId AddWeight(Graph& graph, GraphWeight weight) {
  graph.weights.push_back(std::move(weight));
  return static_cast<WeightId>(graph.weights.size()) - 1;
}

struct AccessVisitor {
  Access operator()(const RmsNorm& op) const { return {{op.x}, {op.y}, {op.weight}}; }
  Access operator()(const Linear& op) const {
    Access access = {{op.x}, {}, {}};
    for (const Product& product : op.products) {
      access.weights.push_back(product.weight);
      if (product.bias != kNone) access.weights.push_back(product.bias);
      if (std::find(access.writes.begin(), access.writes.end(), product.y) == access.writes.end()) {
        access.writes.push_back(product.y);
      }
    }
    return access;
  }
  Access operator()(const AddBias& op) const { return {{op.x}, {op.y}, {op.weight}}; }
  Access operator()(const Add& op) const { return {{op.a, op.b}, {op.y}, {}}; }
  Access operator()(const GatedActivation& op) const { return {{op.gate, op.up}, {op.y}, {}}; }
  Access operator()(const Rope& op) const { return {{op.x}, {op.y}, {}}; }
  Access operator()(const StoreKeyValue& op) const { return {{op.key, op.value}, {}, {}}; }
  Access operator()(const Attention& op) const { return {{op.query}, {op.y}, {}}; }
  Access operator()(const Embedding& op) const { return {{}, {op.y}, {op.table}}; }
};

struct NameVisitor {
  const char* operator()(const RmsNorm&) const { return "RmsNorm"; }
  const char* operator()(const Linear&) const { return "Linear"; }
  const char* operator()(const AddBias&) const { return "AddBias"; }
  const char* operator()(const Add&) const { return "Add"; }
  const char* operator()(const GatedActivation&) const { return "GatedActivation"; }
  const char* operator()(const Rope&) const { return "Rope"; }
  const char* operator()(const StoreKeyValue&) const { return "StoreKeyValue"; }
  const char* operator()(const Attention&) const { return "Attention"; }
  const char* operator()(const Embedding&) const { return "Embedding"; }
};

// The shortest text that means this float and no other.
std::string Exact(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

struct DetailsVisitor {
  std::string operator()(const RmsNorm& op) const { return absl::StrCat("epsilon=", Exact(op.epsilon), " groups=", op.groups); }
  std::string operator()(const Linear& op) const {
    const auto column = [](std::string* out, const Product& product) { absl::StrAppend(out, product.first_column); };
    const auto adapter = [](std::string* out, const Product& product) {
      absl::StrAppend(out, product.adapter == kNone ? "none" : absl::StrCat(product.adapter));
    };
    const auto bits = [](std::string* out, const Product& product) { absl::StrAppend(out, product.fine ? 16 : 8); };
    return absl::StrCat("first_columns=", absl::StrJoin(op.products, ",", column),
                        " adapters=", absl::StrJoin(op.products, ",", adapter), " activation_bits=",
                        absl::StrJoin(op.products, ",", bits));
  }
  std::string operator()(const AddBias&) const { return ""; }
  std::string operator()(const Add&) const { return ""; }
  std::string operator()(const GatedActivation& op) const {
    return op.activation == Activation::kSilu ? "activation=silu" : "activation=gelu_tanh";
  }
  std::string operator()(const Rope& op) const {
    return absl::StrCat("heads=", op.heads, " dimensions=", op.dimensions, " table=", op.table,
                        op.pairs == RopePairs::kAdjacent ? " pairs=adjacent" : " pairs=halves");
  }
  std::string operator()(const StoreKeyValue& op) const { return absl::StrCat("layer=", op.layer); }
  std::string operator()(const Attention& op) const {
    return absl::StrCat("layer=", op.layer, " heads=", op.heads, " scale=", Exact(op.scale), " window=", op.window);
  }
  std::string operator()(const Embedding& op) const { return absl::StrCat("first_token=", op.first_token, " scale=", Exact(op.scale)); }
};

std::string BufferText(const GraphBuffer& buffer) {
  static constexpr const char* kKinds[] = {"input", "scratch", "output"};
  return absl::StrCat(kKinds[static_cast<int>(buffer.kind)], " ", buffer.name, " [rows, ", buffer.columns, "]");
}

std::string WeightText(const GraphWeight& weight) {
  const MatrixSpec& spec = weight.spec;
  if (weight.vector) return absl::StrCat("vector ", spec.name, " [", spec.out_features, "]");
  const std::string form = weight.tile.has_value() ? TileSchemeName(*weight.tile) : InfoOf(spec.format).name;
  return absl::StrCat("matrix ", spec.name, " ", form, " [", spec.out_features, ", ", spec.in_features, "]");
}

// Nothing for the form that graphs have unless a pass was left out.
std::string FormText(const GraphForm& form) {
  if (form == GraphForm()) return "";
  return absl::StrCat("form split_heads=", form.split_heads, " convolutions=", form.convolutions, " folded_scalars=", form.folded_scalars,
                      " split_adapters=", form.split_adapters, " transposed_keys=", form.transposed_keys, "\n");
}

}  // namespace

BufferId Graph::AddInput(std::string name, int64_t columns) {
  return AddBuffer(*this, std::move(name), BufferKind::kInput, columns);
}
BufferId Graph::AddScratch(std::string name, int64_t columns) {
  return AddBuffer(*this, std::move(name), BufferKind::kScratch, columns);
}
BufferId Graph::AddOutput(std::string name, int64_t columns) {
  return AddBuffer(*this, std::move(name), BufferKind::kOutput, columns);
}

// A vector is one FP32 number for each output and nothing to sum over.
WeightId Graph::AddVector(std::string name, int64_t size) {
  return AddWeight(*this, {{std::move(name), BlockFormat::kF32, size, 1}, /*vector=*/true});
}
WeightId Graph::AddMatrix(MatrixSpec spec, std::optional<TileScheme> tile) {
  return AddWeight(*this, {std::move(spec), /*vector=*/false, tile});
}

Access AccessOf(const Operator& op) { return std::visit(AccessVisitor(), op); }
std::string OperatorName(const Operator& op) { return std::visit(NameVisitor(), op); }
std::string OperatorDetails(const Operator& op) { return std::visit(DetailsVisitor(), op); }

std::string OperatorLabel(const Graph& graph, const Operator& op) {
  const Access access = AccessOf(op);
  if (!std::holds_alternative<Linear>(op) || access.weights.empty()) return OperatorName(op);
  return graph.weights[static_cast<size_t>(access.weights[0])].spec.name;
}

std::string GraphText(const Graph& graph) {
  std::string text;
  for (const GraphBuffer& buffer : graph.buffers) absl::StrAppend(&text, BufferText(buffer), "\n");
  for (const GraphWeight& weight : graph.weights) absl::StrAppend(&text, WeightText(weight), "\n");
  for (const Operator& op : graph.operators) {
    const Access access = AccessOf(op);
    absl::StrAppend(&text, OperatorName(op), "(", absl::StrJoin(access.reads, ","), ";", absl::StrJoin(access.weights, ","), ") -> ",
                    absl::StrJoin(access.writes, ","), " ", OperatorDetails(op), "\n");
  }
  absl::StrAppend(&text, FormText(graph.form));
  return text;
}

}  // namespace tessera
