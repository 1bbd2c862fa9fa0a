#include "tessera/npu/graph.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(Graph, HeaderExample) {
  Graph graph;
  BufferId x = graph.AddInput("hidden", 576);
  WeightId norm = graph.AddVector("attn_norm.weight", 576);
  WeightId up = graph.AddMatrix({"ffn_up.weight", BlockFormat::kQ4_1, 1536, 576});
  BufferId normed = graph.AddScratch("normed", 576), y = graph.AddOutput("up", 1536);
  graph.Add(RmsNorm{.x = x, .weight = norm, .y = normed, .epsilon = 1e-5f});
  graph.Add(Linear{.x = normed, .products = {{.weight = up, .y = y}}});
  EXPECT_EQ(graph.operators.size(), 2u);
  EXPECT_EQ(OperatorName(graph.operators[1]), "Linear");
}

TEST(Graph, IdsCountUpAndNameTheirParts) {
  Graph graph;
  EXPECT_EQ(graph.AddInput("a", 1), 0);
  EXPECT_EQ(graph.AddScratch("b", 2), 1);
  EXPECT_EQ(graph.AddOutput("c", 3), 2);
  EXPECT_EQ(graph.AddVector("v", 7), 0);
  EXPECT_EQ(graph.AddMatrix({"m", BlockFormat::kQ8_0, 4, 32}), 1);
  EXPECT_EQ(graph.buffers[1].name, "b");
  EXPECT_EQ(graph.buffers[1].kind, BufferKind::kScratch);
  EXPECT_EQ(graph.buffers[2].kind, BufferKind::kOutput);
  EXPECT_EQ(graph.buffers[2].columns, 3);
  EXPECT_TRUE(graph.weights[0].vector);
  EXPECT_EQ(graph.weights[0].spec.out_features * graph.weights[0].spec.in_features, 7);
  EXPECT_FALSE(graph.weights[1].vector);
}

void ExpectAccess(const Operator& op, std::vector<BufferId> reads, std::vector<BufferId> writes, std::vector<WeightId> weights) {
  const Access access = AccessOf(op);
  EXPECT_EQ(access.reads, reads) << OperatorName(op);
  EXPECT_EQ(access.writes, writes) << OperatorName(op);
  EXPECT_EQ(access.weights, weights) << OperatorName(op);
}

TEST(Graph, AccessNamesEveryBufferAndWeightOnce) {
  ExpectAccess(RmsNorm{.x = 1, .weight = 2, .y = 3}, {1}, {3}, {2});
  ExpectAccess(
      Linear{.x = 1, .products = {{.weight = 2, .y = 3}, {.weight = 4, .y = 5}, {.weight = 6, .y = 3, .first_column = 8}}}, {1},
      {3, 5}, {2, 4, 6});
  ExpectAccess(AddBias{.x = 1, .weight = 2, .y = 3}, {1}, {3}, {2});
  ExpectAccess(Add{.a = 1, .b = 2, .y = 3}, {1, 2}, {3}, {});
  ExpectAccess(GatedActivation{.gate = 1, .up = 2, .y = 3}, {1, 2}, {3}, {});
  ExpectAccess(Rope{.x = 1, .y = 3}, {1}, {3}, {});
  ExpectAccess(StoreKeyValue{.key = 1, .value = 2}, {1, 2}, {}, {});
  ExpectAccess(Attention{.query = 1, .y = 3}, {1}, {3}, {});
  ExpectAccess(Embedding{.table = 2, .y = 3}, {}, {3}, {2});
}

TEST(Graph, DetailsShowTheAttributes) {
  EXPECT_EQ(OperatorDetails(RmsNorm{.epsilon = 1e-5f, .groups = 9}), "epsilon=1e-05 groups=9");
  EXPECT_EQ(OperatorDetails(Linear{.products = {{.adapter = 4}, {.first_column = 576, .fine = true}}}),
            "first_columns=0,576 adapters=4,none activation_bits=8,16");
  EXPECT_EQ(OperatorDetails(GatedActivation{.activation = Activation::kGeluTanh}), "activation=gelu_tanh");
  EXPECT_EQ(OperatorDetails(Rope{.heads = 9, .dimensions = 64, .table = 1, .pairs = RopePairs::kHalves}),
            "heads=9 dimensions=64 table=1 pairs=halves");
  EXPECT_EQ(OperatorDetails(StoreKeyValue{.layer = 3}), "layer=3");
  EXPECT_EQ(OperatorDetails(Attention{.layer = 2, .heads = 9, .scale = 0.125f, .window = 512}),
            "layer=2 heads=9 scale=0.125 window=512");
  EXPECT_EQ(OperatorDetails(Embedding{.first_token = 24, .scale = 2}), "first_token=24 scale=2");
  EXPECT_EQ(OperatorDetails(Add{}), "");
}

}  // namespace
}  // namespace tessera
