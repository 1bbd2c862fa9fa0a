#include "tessera/model/compiled_model.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {

// Adds blocks in order. Equal graphs are compiled once.
class ModelCompiler {
 public:
  ModelCompiler(CompiledModel& model, absl::Span<const int> graph_rows) : model_(model), graph_rows_(graph_rows) {}

  // Adds a block for passes of at most `most_rows` rows.
  absl::Status Add(BlockGraph block, int most_rows) {
    const std::string text = GraphText(block.graph);
    BlockVariants variants;
    for (const int rows : graph_rows_) {
      if (rows >= most_rows) break;
      ASSIGN_OR_RETURN(variants.emplace_back(), Compiled(text, block.graph, rows));
    }
    ASSIGN_OR_RETURN(variants.emplace_back(), Compiled(text, block.graph, most_rows));
    model_.variants_.push_back(std::move(variants));
    std::vector<int> units;
    for (const TensorPart& part : block.parts) units.push_back(part.unit);
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    model_.blocks_.push_back({std::move(block.parts), std::move(units)});
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::shared_ptr<const CompiledGraph>> Compiled(const std::string& text, const Graph& graph, int rows) {
    std::shared_ptr<const CompiledGraph>& known = compiled_[{text, rows}];
    if (known == nullptr) {
      ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(graph, {.row_capacity = rows}));
      known = std::make_shared<const CompiledGraph>(std::move(compiled));
    }
    return known;
  }

  CompiledModel& model_;
  const absl::Span<const int> graph_rows_;
  absl::flat_hash_map<std::pair<std::string, int>, std::shared_ptr<const CompiledGraph>> compiled_;
};

absl::StatusOr<CompiledModel> CompiledModel::Create(const ModelConfig& config, const WeightLayout& layout, const Options& options) {
  CompiledModel model;
  model.layers_ = static_cast<int>(config.layers.size());
  model.row_capacity_ = options.row_capacity;
  model.rows_together_ = std::min(options.rows_together, options.row_capacity);
  const std::string table = EmbeddingNeed(config).name;
  const int last = model.layers_ - 1;
  ModelCompiler compiler(model, options.graph_rows);
  for (const int row : {0, config.vocabulary - 1}) {
    RETURN_IF_ERROR(compiler.Add(BuildEmbeddingGraph(config, layout.PanelOf(table, row)), options.row_capacity));
  }
  for (int layer = 0; layer < last; ++layer) {
    RETURN_IF_ERROR(compiler.Add(BuildLayerGraph(config, layout, layer), model.rows_together_));
  }
  RETURN_IF_ERROR(compiler.Add(BuildKeyValueGraph(config, layout, last), model.rows_together_));
  RETURN_IF_ERROR(compiler.Add(BuildLayerGraph(config, layout, last), model.rows_together_));
  RETURN_IF_ERROR(compiler.Add(BuildOutputNormGraph(config, layout), kHeadRows));
  for (BlockGraph& part : BuildHeadGraphs(config, layout)) RETURN_IF_ERROR(compiler.Add(std::move(part), kHeadRows));
  return model;
}

std::vector<const CompiledGraph*> CompiledModel::graphs() const {
  std::vector<const CompiledGraph*> graphs;
  for (const BlockVariants& variants : variants_) {
    for (const auto& graph : variants) {
      if (std::find(graphs.begin(), graphs.end(), graph.get()) == graphs.end()) graphs.push_back(graph.get());
    }
  }
  return graphs;
}

}  // namespace tessera
