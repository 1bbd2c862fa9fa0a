#include "tessera/apps/show/describe_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/model/compiled_model.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

// Collects graphs; equal ones, by GraphText, become one.
class Collector {
 public:
  absl::Status Add(std::string name, BlockGraph block, int row_capacity) {
    const auto [place, is_new] = index_.try_emplace(GraphText(block.graph), graphs_.size());
    if (is_new) {
      ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(std::move(block.graph), {.row_capacity = row_capacity}));
      graphs_.push_back({std::move(compiled), {}});
    }
    graphs_[place->second].uses.push_back({std::move(name), std::move(block.parts)});
    return absl::OkStatus();
  }

  absl::Status AddParts(const char* name, std::vector<BlockGraph> parts, int row_capacity) {
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(Add(parts.size() == 1 ? std::string(name) : absl::StrCat(name, " part ", i), std::move(parts[i]), row_capacity));
    }
    return absl::OkStatus();
  }

  std::vector<DescribedGraph> Take() { return std::move(graphs_); }

 private:
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<DescribedGraph> graphs_;
};

const char* KindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput: return "input";
    case BufferKind::kScratch: return "scratch";
    case BufferKind::kOutput: return "output";
  }
  return "unknown";
}

std::string BufferNames(const Graph& graph, const std::vector<BufferId>& ids) {
  return absl::StrJoin(ids, " ", [&](std::string* out, BufferId id) { absl::StrAppend(out, graph.buffers[id].name); });
}

std::string WeightNames(const Graph& graph, const std::vector<WeightId>& ids) {
  return absl::StrJoin(ids, " ", [&](std::string* out, WeightId id) { absl::StrAppend(out, graph.weights[id].spec.name); });
}

std::string ShapeText(const GraphWeight& weight) {
  if (weight.vector) return absl::StrCat(weight.spec.out_features);
  return absl::StrCat(weight.spec.out_features, " x ", weight.spec.in_features);
}

// Returns "Q4_1", or "int4-tile".
std::string FormText(const GraphWeight& weight) {
  return weight.tile.has_value() ? TileSchemeName(*weight.tile) : InfoOf(weight.spec.format).name;
}

// Returns "layer 0, layer 1, layer 2"; lines of eight where there are many.
std::string UsesText(const std::vector<GraphUse>& uses) {
  std::string text;
  for (size_t i = 0; i < uses.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : i % 8 == 0 ? ",\n  " : ", ", uses[i].name);
  return text;
}

std::string OperatorTable(const Graph& graph) {
  Table table({{"#", Table::Align::kRight}, {"operator"}, {"reads"}, {"weights"}, {"writes"}, {"details"}});
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    const Access access = AccessOf(op);
    table.AddRow({absl::StrCat(i), OperatorName(op), BufferNames(graph, access.reads), WeightNames(graph, access.weights),
                  BufferNames(graph, access.writes), OperatorDetails(op)});
  }
  return table.ToString();
}

std::string BufferTable(const CompiledGraph& compiled) {
  Table table({{"buffer"}, {"kind"}, {"shape"}, {"offset", Table::Align::kRight}});
  for (size_t i = 0; i < compiled.graph.buffers.size(); ++i) {
    const GraphBuffer& buffer = compiled.graph.buffers[i];
    table.AddRow({buffer.name, KindName(buffer.kind), absl::StrCat(compiled.row_capacity, " x ", buffer.columns),
                  compiled.offsets[i] < 0 ? "the caller's" : absl::StrCat(compiled.offsets[i])});
  }
  return table.ToString();
}

std::string WeightTable(const Graph& graph, const GraphUse& use) {
  Table table({{"weight"}, {"shape"}, {"format"}, {"unit", Table::Align::kRight}, {"offset", Table::Align::kRight},
               {"bytes", Table::Align::kRight}});
  for (size_t i = 0; i < graph.weights.size(); ++i) {
    const GraphWeight& weight = graph.weights[i];
    const TensorPart& part = use.parts[i];
    table.AddRow({weight.spec.name, ShapeText(weight), FormText(weight), absl::StrCat(part.unit),
                  absl::StrCat(part.offset), absl::StrCat(part.bytes)});
  }
  return table.ToString();
}

void WriteOperator(JsonWriter& json, const Graph& graph, const Operator& op) {
  const Access access = AccessOf(op);
  json.BeginObject().Key("operator").String(OperatorName(op)).Key("details").String(OperatorDetails(op));
  json.Key("reads").BeginArray();
  for (BufferId id : access.reads) json.String(graph.buffers[id].name);
  json.EndArray().Key("weights").BeginArray();
  for (WeightId id : access.weights) json.String(graph.weights[id].spec.name);
  json.EndArray().Key("writes").BeginArray();
  for (BufferId id : access.writes) json.String(graph.buffers[id].name);
  json.EndArray().EndObject();
}

void WriteBuffers(JsonWriter& json, const CompiledGraph& compiled) {
  json.BeginArray();
  for (size_t i = 0; i < compiled.graph.buffers.size(); ++i) {
    const GraphBuffer& buffer = compiled.graph.buffers[i];
    json.BeginObject().Key("name").String(buffer.name).Key("kind").String(KindName(buffer.kind));
    json.Key("shape").BeginArray().Int(compiled.row_capacity).Int(buffer.columns).EndArray();
    json.Key("offset");
    if (compiled.offsets[i] < 0) json.Null(); else json.Int(compiled.offsets[i]);
    json.EndObject();
  }
  json.EndArray();
}

void WriteUse(JsonWriter& json, const Graph& graph, const GraphUse& use) {
  json.BeginObject().Key("name").String(use.name).Key("weights").BeginArray();
  for (size_t i = 0; i < graph.weights.size(); ++i) {
    const GraphWeight& weight = graph.weights[i];
    json.BeginObject().Key("name").String(weight.spec.name).Key("format").String(FormText(weight));
    json.Key("shape").BeginArray();
    json.Int(weight.spec.out_features);
    if (!weight.vector) json.Int(weight.spec.in_features);
    json.EndArray();
    json.Key("unit").Int(use.parts[i].unit).Key("offset").Int(use.parts[i].offset).Key("bytes").Int(use.parts[i].bytes);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

absl::StatusOr<std::vector<DescribedGraph>> GraphsOf(const ModelConfig& config, const WeightLayout& layout, int row_capacity) {
  Collector collector;
  const int together = std::min(row_capacity, kRowsTogether);
  RETURN_IF_ERROR(
      collector.Add("embedding, panel 0", BuildEmbeddingGraph(config, layout.PanelOf(EmbeddingNeed(config).name, 0)), row_capacity));
  for (size_t layer = 0; layer < config.layers.size(); ++layer) {
    RETURN_IF_ERROR(collector.Add(absl::StrCat("layer ", layer), BuildLayerGraph(config, layout, static_cast<int>(layer)), together));
  }
  const int last = static_cast<int>(config.layers.size()) - 1;
  RETURN_IF_ERROR(collector.Add(absl::StrCat("keys and values of layer ", last), BuildKeyValueGraph(config, layout, last), together));
  RETURN_IF_ERROR(collector.Add("output norm", BuildOutputNormGraph(config, layout), kHeadRows));
  RETURN_IF_ERROR(collector.AddParts("head", BuildHeadGraphs(config, layout), kHeadRows));
  return collector.Take();
}

std::string GraphsText(const std::vector<DescribedGraph>& graphs) {
  std::string text = absl::StrCat(graphs.size(), " distinct graphs\n");
  for (size_t i = 0; i < graphs.size(); ++i) {
    const DescribedGraph& graph = graphs[i];
    absl::StrAppend(&text, "\ngraph ", i, ": ", UsesText(graph.uses), "\n", "rows at once: ", graph.compiled.row_capacity, "; arena: ",
                    FormatByteSize(graph.compiled.arena_bytes), "; adapter placeholders: ", graph.compiled.graph.adapters, "\n\n");
    absl::StrAppend(&text, OperatorTable(graph.compiled.graph), "\n", BufferTable(graph.compiled), "\nWeights of ",
                    graph.uses[0].name, ":\n", WeightTable(graph.compiled.graph, graph.uses[0]));
  }
  return text;
}

std::string GraphsJson(const std::vector<DescribedGraph>& graphs) {
  JsonWriter json(1);
  json.BeginObject().Key("graphs").BeginArray();
  for (const DescribedGraph& described : graphs) {
    const Graph& graph = described.compiled.graph;
    json.BeginObject();
    json.Key("row_capacity").Int(described.compiled.row_capacity);
    json.Key("arena_bytes").Int(described.compiled.arena_bytes);
    json.Key("adapter_placeholders").Int(graph.adapters);
    json.Key("operators").BeginArray();
    for (const Operator& op : graph.operators) WriteOperator(json, graph, op);
    json.EndArray();
    WriteBuffers(json.Key("buffers"), described.compiled);
    json.Key("uses").BeginArray();
    for (const GraphUse& use : described.uses) WriteUse(json, graph, use);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera
