#include "tessera/npu/fold_biases.h"

#include <optional>
#include <utility>
#include <variant>

#include "gtest/gtest.h"

namespace tessera {
namespace {

// y = W x + b.
Graph WithBias(bool tiles, bool read_twice) {
  Graph graph;
  const BufferId x = graph.AddInput("x", 32), plain = graph.AddScratch("plain", 64), y = graph.AddOutput("y", 64);
  const WeightId matrix = graph.AddMatrix({"w", BlockFormat::kF32, 64, 32}, tiles ? std::optional<TileScheme>(TileScheme{}) : std::nullopt);
  graph.Add(Linear{.x = x, .products = {{.weight = matrix, .y = plain}}});
  graph.Add(AddBias{.x = plain, .weight = graph.AddVector("b", 64), .y = y});
  if (read_twice) graph.Add(Add{.a = plain, .b = plain, .y = graph.AddOutput("z", 64)});
  return graph;
}

TEST(FoldBiases, HeaderExample) {
  Graph graph = WithBias(/*tiles=*/true, /*read_twice=*/false);
  graph = FoldBiases(std::move(graph));
  ASSERT_EQ(graph.operators.size(), 1u);
  EXPECT_NE(std::get<Linear>(graph.operators[0]).products[0].bias, kNone);
}

TEST(FoldBiases, OnlyProductsInTilesThatNobodyElseReadsTakeTheirBias) {
  EXPECT_EQ(FoldBiases(WithBias(/*tiles=*/false, /*read_twice=*/false)).operators.size(), 2u);
  EXPECT_EQ(FoldBiases(WithBias(/*tiles=*/true, /*read_twice=*/true)).operators.size(), 3u);
}

}  // namespace
}  // namespace tessera
