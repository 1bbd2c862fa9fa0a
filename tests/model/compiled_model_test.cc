#include "tessera/model/compiled_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

absl::StatusOr<CompiledModel> Compiled(const LoadedWeights& model, const CompiledModel::Options& options) {
  return CompiledModel::Create(model.config(), model.layout(), options);
}

TEST(CompiledModel, HeaderExample) {
  const LoadedWeights loaded(TinyModelBuilder({}));
  const ModelConfig& config = loaded.config();
  const WeightLayout& layout = loaded.layout();
  ThreadPool pool(1);
  HostDevice device(pool);
  const auto example = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = 512}));
    const int64_t scratch = device.ScratchBytes(model.graphs(), /*longest_path=*/4096);
    GraphStore store(device, model.variants());
    ASSIGN_OR_RETURN(LoadedGraph* const graph, store.For(model.layer(0), /*rows=*/1));
    EXPECT_GT(scratch, 0);
    EXPECT_NE(graph, nullptr);
    EXPECT_FALSE(model.block(model.layer(0)).units.empty());
    return absl::OkStatus();
  };
  EXPECT_EQ(example(), absl::OkStatus());
}

TEST(CompiledModel, BlocksAreNumberedInTheOrderOfAPass) {
  const LoadedWeights loaded(TinyModelBuilder({.layers = 3}));
  const CompiledModel model = Must(Compiled(loaded, {.row_capacity = 8}));
  std::vector<int> layers;
  for (int block = model.layer(0); block < static_cast<int>(model.variants().size()); ++block) layers.push_back(model.LayerOf(block));
  ASSERT_GE(model.head_parts(), 1);
  std::vector<int> expected = {0, 1, 2, 2, 3};  // The last layer has a part for rows that nobody wants; then the norm,
  expected.resize(expected.size() + model.head_parts(), 3);  // and the parts of the head.
  EXPECT_EQ(layers, expected);
  EXPECT_EQ(model.LayerOf(model.layer(2)), 2);
  EXPECT_EQ(model.LayerOf(model.last_keys_and_values()), 2);
  for (int block = model.layer(0); block < static_cast<int>(model.variants().size()); ++block) {
    const std::vector<int>& units = model.block(block).units;
    EXPECT_TRUE(std::is_sorted(units.begin(), units.end()));
    EXPECT_EQ(std::adjacent_find(units.begin(), units.end()), units.end()) << "a unit is named twice";
    for (const TensorPart& part : model.block(block).parts) EXPECT_TRUE(std::binary_search(units.begin(), units.end(), part.unit));
  }
}

TEST(CompiledModel, LayersThatAreAlikeShareOneGraph) {
  const LoadedWeights few(TinyModelBuilder({.layers = 2})), many(TinyModelBuilder({.layers = 6}));
  const CompiledModel model = Must(Compiled(many, {}));
  EXPECT_EQ(model.variants()[model.layer(0)], model.variants()[model.layer(4)]);
  EXPECT_EQ(model.graphs().size(), Must(Compiled(few, {})).graphs().size());
}

TEST(CompiledModel, EveryBlockHasAGraphForEachNumberOfRowsBelowItsOwn) {
  const LoadedWeights loaded(TinyModelBuilder({}));
  const CompiledModel model = Must(Compiled(loaded, {.row_capacity = 128, .rows_together = 32, .graph_rows = {1, 8, 48}}));
  const auto rows_of = [&](int block) {
    std::vector<int> rows;
    for (const auto& graph : model.variants()[block]) rows.push_back(graph->row_capacity);
    return rows;
  };
  EXPECT_EQ(rows_of(model.layer(0)), (std::vector<int>{1, 8, 32}));
  EXPECT_EQ(rows_of(CompiledModel::kEmbedding), (std::vector<int>{1, 8, 48, 128}));
  EXPECT_EQ(rows_of(model.head(0)), (std::vector<int>{1, 8, 48, kHeadRows}));
}

TEST(CompiledModel, ARowCapacityOutOfRangeIsRefused) {
  const LoadedWeights loaded(TinyModelBuilder({}));
  for (const int rows : {0, -1}) {
    const absl::Status status = Compiled(loaded, {.row_capacity = rows}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << rows;
    EXPECT_NE(status.message().find("found"), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace tessera
