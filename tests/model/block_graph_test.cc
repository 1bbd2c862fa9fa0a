#include "tessera/model/block_graph.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/model/lora.h"
#include "tessera/npu/compiler.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

LoadedWeights Golden(const std::string& name) {
  return LoadedWeights(absl::StrCat(TESSERA_SOURCE_DIR, "/tests/golden/tiny/", name, ".gguf"));
}

std::string Operators(const Graph& graph) {
  std::string names;
  for (const Operator& op : graph.operators) absl::StrAppend(&names, names.empty() ? "" : " ", OperatorName(op));
  return names;
}

TEST(BlockGraph, HeaderExample) {
  const LoadedWeights model = Golden("llama");
  const ModelConfig& config = model.config();
  const WeightLayout& layout = model.layout();
  std::vector<int> leased;
  const auto Lease = [&](int unit) { leased.push_back(unit); };
  const auto run = [&]() -> absl::StatusOr<int> {
    BlockGraph block = BuildLayerGraph(config, layout, /*layer=*/0);
    ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(block.graph, {.row_capacity = 512}));
    for (const TensorPart& part : block.parts) Lease(part.unit);
    return compiled.row_capacity;
  };
  EXPECT_EQ(Must(run()), 512);
  EXPECT_EQ(leased, std::vector<int>(9, 1));  // Nine tensors, all in the unit after the embedding table.
}

TEST(BlockGraph, OperatorsOfEachArchitecture) {
  const auto layer = [](const char* name) {
    const LoadedWeights model = Golden(name);
    return Operators(BuildLayerGraph(model.config(), model.layout(), 0).graph);
  };
  EXPECT_EQ(layer("llama"), "RmsNorm Linear Rope Rope StoreKeyValue Attention Linear Add RmsNorm Linear GatedActivation Linear Add");
  EXPECT_EQ(layer("qwen2"), "RmsNorm Linear AddBias AddBias AddBias Rope Rope StoreKeyValue Attention Linear Add "
                            "RmsNorm Linear GatedActivation Linear Add");
  EXPECT_EQ(layer("qwen3"), "RmsNorm Linear RmsNorm RmsNorm Rope Rope StoreKeyValue Attention Linear Add "
                            "RmsNorm Linear GatedActivation Linear Add");
  EXPECT_EQ(layer("gemma3"), "RmsNorm Linear RmsNorm RmsNorm Rope Rope StoreKeyValue Attention Linear RmsNorm Add "
                             "RmsNorm Linear GatedActivation Linear RmsNorm Add");
}

// One operator more for each bias, and none where there is none.
TEST(BlockGraph, BiasesFollowTheirProducts) {
  const LoadedWeights all(TinyModelBuilder({.biases = AllLayerBiases()}));
  EXPECT_EQ(Operators(BuildLayerGraph(all.config(), all.layout(), 0).graph),
            "RmsNorm Linear AddBias AddBias AddBias Rope Rope StoreKeyValue Attention Linear AddBias Add "
            "RmsNorm Linear AddBias AddBias GatedActivation Linear AddBias Add");
  const LoadedWeights head(TinyModelBuilder({.architecture = "qwen2", .biases = {"output.bias"}}));
  EXPECT_EQ(Operators(BuildHeadGraphs(head.config(), head.layout())[0].graph), "Linear AddBias");
  EXPECT_EQ(Operators(BuildHeadGraphs(all.config(), all.layout())[0].graph), "Linear");
}

// A bias in one layer only makes that layer's graph another.
TEST(BlockGraph, LayersMayDifferInTheirBiases) {
  const LoadedWeights model(TinyModelBuilder({.layers = 3, .biases = {"ffn_up.bias"}, .without = {"blk.1.ffn_up.bias"}}));
  std::vector<std::string> texts;
  for (int layer = 0; layer < 3; ++layer) texts.push_back(GraphText(BuildLayerGraph(model.config(), model.layout(), layer).graph));
  EXPECT_EQ(texts[0], texts[2]);
  EXPECT_NE(texts[0], texts[1]);
}

TEST(BlockGraph, KeysAndValuesAloneTakeOnlyTheOperatorsBeforeThem) {
  const auto layer = [](const char* name) {
    const LoadedWeights model = Golden(name);
    const BlockGraph block = BuildKeyValueGraph(model.config(), model.layout(), 0);
    EXPECT_EQ(block.parts.size(), block.graph.weights.size());
    for (const GraphWeight& weight : block.graph.weights) EXPECT_EQ(weight.spec.name.find("attn_q"), std::string::npos) << weight.spec.name;
    return Operators(block.graph);
  };
  EXPECT_EQ(layer("llama"), "RmsNorm Linear Rope StoreKeyValue");
  EXPECT_EQ(layer("qwen2"), "RmsNorm Linear AddBias AddBias Rope StoreKeyValue");
  EXPECT_EQ(layer("qwen3"), "RmsNorm Linear RmsNorm Rope StoreKeyValue");
  EXPECT_EQ(layer("gemma3"), "RmsNorm Linear RmsNorm Rope StoreKeyValue");
}

// One graph for layers that are alike: the text tells global layers from those with a window, and nothing else.
TEST(BlockGraph, LayersThatAreAlikeGiveEqualGraphs) {
  const LoadedWeights model = Golden("gemma3");
  std::vector<std::string> texts;
  for (int layer = 0; layer < 7; ++layer) texts.push_back(GraphText(BuildLayerGraph(model.config(), model.layout(), layer).graph));
  for (int layer = 0; layer < 7; ++layer) EXPECT_EQ(texts[layer] == texts[0], layer != 5) << layer;
}

// A graph that differs in any number must not share a text with another, or a device would run the wrong one.
TEST(BlockGraph, TheTextTellsEveryDifference) {
  const LoadedWeights model = Golden("gemma3");
  const auto text = [&](auto&& change) {
    ModelConfig config = model.config();
    change(config);
    return GraphText(BuildLayerGraph(config, model.layout(), 0).graph);
  };
  const std::string plain = text([](ModelConfig&) {});
  EXPECT_NE(text([](ModelConfig& c) { c.norm_epsilon = 2e-5f; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.attention_scale *= 1 + 0x1p-22f; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.activation = Activation::kSilu; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.rope_pairs = RopePairs::kAdjacent; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.ropes[1].dimensions /= 2; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.layers[0].window = 17; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.layers[0].rope = 0; }), plain);
  EXPECT_NE(text([](ModelConfig& c) { c.post_norms = false; }), plain);
  const auto head = [&](float scale) {
    ModelConfig config = model.config();
    config.embedding_scale = scale;
    return GraphText(BuildEmbeddingGraph(config, model.layout().PanelOf(EmbeddingNeed(config).name, 0)).graph);
  };
  EXPECT_NE(head(8), head(8 * (1 + 0x1p-22f)));
}

TEST(BlockGraph, EachLayerOffersSevenPlaceholdersInTheOrderOfLoraTarget) {
  const LoadedWeights model = Golden("qwen3");
  const Graph graph = BuildLayerGraph(model.config(), model.layout(), 1).graph;
  EXPECT_EQ(graph.adapters, kLoraTargets);
  std::vector<std::string> names(kLoraTargets);
  for (const Operator& op : graph.operators) {
    const Linear* linear = std::get_if<Linear>(&op);
    if (linear == nullptr) continue;
    for (const Product& product : linear->products) names[product.adapter] = graph.weights[product.weight].spec.name;
  }
  for (int i = 0; i < kLoraTargets; ++i) EXPECT_EQ(names[i], absl::StrCat(LoraTargetName(static_cast<LoraTarget>(i)), ".weight"));
}

TEST(BlockGraph, TablesAndHeadsInPartsCoverTheVocabulary) {
  for (const bool tied : {false, true}) {
    const LoadedWeights model(TinyModelBuilder({.tied = tied}), WeightEncoding::kPacked, /*largest_unit=*/5000);
    const std::string table = EmbeddingNeed(model.config()).name;
    const auto head = BuildHeadGraphs(model.config(), model.layout());
    ASSERT_GT(head.size(), 1u);
    int64_t row = 0;
    for (const BlockGraph& part : head) {
      EXPECT_EQ(part.parts[0].first_row, row);
      EXPECT_EQ(model.layout().PanelOf(table, row).unit == part.parts[0].unit, tied);  // One table for both.
      row += part.parts[0].weight.spec.out_features;
    }
    EXPECT_EQ(row, kTinyVocabulary);
  }
}

TEST(BlockGraph, TheNormBeforeTheHeadIsAloneInItsGraph) {
  const LoadedWeights model = Golden("llama");
  const BlockGraph norm = BuildOutputNormGraph(model.config(), model.layout());
  EXPECT_EQ(Operators(norm.graph), "RmsNorm");
  ASSERT_EQ(norm.parts.size(), 1u);
  EXPECT_EQ(norm.graph.weights[0].spec.name, "output_norm.weight");
}

}  // namespace
}  // namespace tessera
