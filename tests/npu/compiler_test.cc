#include "tessera/npu/compiler.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/decoder_block.h"

namespace tessera {
namespace {

TEST(Compiler, HeaderExample) {
  Graph graph = DecoderBlock({});
  ReferenceDevice device;
  const auto load = [&]() -> absl::StatusOr<std::unique_ptr<LoadedGraph>> {
    ASSIGN_OR_RETURN(CompiledGraph compiled, Compile(std::move(graph), {.row_capacity = 512}));
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> loaded, device.Load(compiled));
    return loaded;
  };
  EXPECT_TRUE(load().ok());
}

TEST(Compiler, CompiledGraphKnowsTheNeedsOfARun) {
  const absl::StatusOr<CompiledGraph> compiled =
      Compile(DecoderBlock({.layers = 2, .embedding = true, .format = BlockFormat::kQ8_0}), {.row_capacity = 7});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->row_capacity, 7);
  EXPECT_EQ(compiled->offsets.size(), compiled->graph.buffers.size());
  ASSERT_EQ(compiled->needs.external.size(), 1u);
  EXPECT_EQ(compiled->graph.buffers[compiled->needs.external[0]].name, "out");
  EXPECT_EQ(compiled->offsets[compiled->needs.external[0]], -1);
  EXPECT_TRUE(compiled->needs.tokens);
  EXPECT_EQ(compiled->needs.rope_tables, 1);
  EXPECT_EQ(compiled->needs.key_columns, 32);
  EXPECT_EQ(compiled->needs.head_size, 16);
  EXPECT_EQ(compiled->needs.query_heads, 4);
  EXPECT_EQ(compiled->needs.float_bytes[0], 24 * 64 * 4);
  EXPECT_EQ(compiled->needs.packed_bytes[0], *PackedMatrix::BytesFor(compiled->graph.weights[0].spec));
}

TEST(Compiler, RowCapacityIsBounded) {
  for (const int capacity : {1, 65536}) EXPECT_TRUE(Compile(DecoderBlock({}), {.row_capacity = capacity}).ok());
  for (const int capacity : {-1, 0, 65537}) {
    const absl::Status status = Compile(DecoderBlock({}), {.row_capacity = capacity}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(std::to_string(capacity)), std::string::npos);
  }
}

TEST(Compiler, AGraphWithoutOperatorsNeedsNoMemory) {
  Graph graph;
  graph.AddInput("x", 5);
  const absl::StatusOr<CompiledGraph> compiled = Compile(graph, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->arena_bytes, 0);
}

// --- A small graph with one of everything, and one fault at a time.

// Buffers and weights by name, so that a fault can be written down in a line.
struct Parts {
  Graph graph;
  BufferId x = graph.AddInput("x", 64), embedded = graph.AddScratch("embedded", 64), normed = graph.AddScratch("normed", 64);
  BufferId qkv = graph.AddScratch("qkv", 64), k = graph.AddScratch("k", 32), v = graph.AddScratch("v", 32);
  BufferId biased = graph.AddScratch("biased", 64), turned = graph.AddScratch("turned", 64),
           mixed = graph.AddScratch("mixed", 64);
  BufferId gated = graph.AddScratch("gated", 64), out = graph.AddOutput("out", 64);
  WeightId table = graph.AddMatrix({"table", BlockFormat::kF32, 10, 64}), norm = graph.AddVector("norm", 16);
  WeightId left = graph.AddMatrix({"left", BlockFormat::kF32, 24, 64}),
           right = graph.AddMatrix({"right", BlockFormat::kF32, 40, 64});
  WeightId key = graph.AddMatrix({"key", BlockFormat::kF32, 32, 64}), bias = graph.AddVector("bias", 64);

  Embedding embedding = {.table = table, .y = embedded, .first_token = 0, .scale = 1};
  Embedding embedding_rest = {.table = table, .y = embedded, .first_token = 10, .scale = 1};
  RmsNorm rms_norm = {.x = embedded, .weight = norm, .y = normed, .epsilon = 1e-6f, .groups = 4};
  Linear mat_mul = {.x = normed, .products = {{.weight = left, .y = qkv, .first_column = 0, .adapter = 0},
                                              {.weight = right, .y = qkv, .first_column = 24, .adapter = 1},
                                              {.weight = key, .y = k},
                                              {.weight = key, .y = v}}};
  AddBias add_bias = {.x = qkv, .weight = bias, .y = biased};
  Rope rope = {.x = biased, .y = turned, .heads = 4, .dimensions = 16, .table = 0};
  StoreKeyValue store = {.key = k, .value = v, .layer = 0};
  Attention attention = {.query = turned, .y = mixed, .layer = 0, .heads = 4, .scale = 0.25f, .window = 0};
  GatedActivation gated_activation = {.gate = mixed, .up = x, .y = gated};
  Add add = {.a = gated, .b = x, .y = out};

  Parts() { graph.adapters = 2; }
  Graph Build() {
    const std::vector<Operator> all = {embedding, embedding_rest, rms_norm, mat_mul, add_bias, rope, store, attention,
                                       gated_activation, add};
    graph.operators.insert(graph.operators.end(), all.begin(), all.end());
    return graph;
  }
};

struct Fault {
  std::function<void(Parts&)> make;
  const char* expected;  // Part of the message.
};

void ExpectRefused(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    Parts parts;
    fault.make(parts);
    const absl::Status status = Compile(parts.Build(), {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.expected;
    EXPECT_NE(std::string(status.message()).find(fault.expected), std::string::npos)
        << status << "\n  expected: " << fault.expected;
  }
}

TEST(Compiler, AcceptsTheGraphThatTheFaultsBelowSpoil) {
  const absl::StatusOr<CompiledGraph> compiled = Compile(Parts().Build(), {});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
}

TEST(Compiler, RefusesIdsOutOfRange) {
  ExpectRefused({
      {[](Parts& p) { p.rms_norm.x = 11; }, "operator 2 (RmsNorm): x: found buffer 11, but the graph has 11"},
      {[](Parts& p) { p.add.b = kNone; }, "operator 9 (Add): b: found buffer -1"},
      {[](Parts& p) { p.store.value = 1000; }, "operator 6 (StoreKeyValue): value: found buffer 1000"},
      {[](Parts& p) { p.add.y = 99; }, "y: found buffer 99"},
      {[](Parts& p) { p.mat_mul.products[2].y = -7; }, "operator 3 (Linear): product 2: y: found buffer -7"},
      {[](Parts& p) { p.mat_mul.products[1].weight = 6; }, "product 1: weight: found weight 6, but the graph has 6"},
      {[](Parts& p) { p.add_bias.weight = kNone; }, "operator 4 (AddBias): weight: found weight -1"},
      {[](Parts& p) { p.embedding_rest.table = 12; }, "operator 1 (Embedding): table: found weight 12"},
      {[](Parts& p) { p.mat_mul.products[0].adapter = 2; }, "adapter: found 2, but the graph has 2"},
      {[](Parts& p) { p.mat_mul.products[0].adapter = -2; }, "adapter: found -2"},
  });
}

TEST(Compiler, RefusesWrongOrderOfReadsAndWrites) {
  ExpectRefused({
      {[](Parts& p) { p.rms_norm.x = p.mixed; }, "x: buffer \"mixed\" is read before it is written"},
      {[](Parts& p) { p.add.b = p.out; }, "b: buffer \"out\" is read before it is written"},
      {[](Parts& p) { p.add.y = p.mixed; }, "operator 9 (Add): y: buffer \"mixed\" is written twice, first by operator 7"},
      {[](Parts& p) { p.add.y = p.gated; }, "\"gated\" is written twice, first by operator 8"},
      {[](Parts& p) { p.add.y = p.x; }, "\"x\" is an input"},
      {[](Parts& p) { p.mat_mul.products[3].y = p.normed; }, "\"normed\" is written twice"},
      {[](Parts& p) { p.mat_mul.products[3].y = p.x; }, "\"x\" is an input"},
      {[](Parts& p) { p.embedding.y = p.x; }, "\"x\" is an input"},
      {[](Parts& p) { p.graph.AddScratch("forgotten", 4); }, "buffer 11 \"forgotten\": no operator writes it"},
      {[](Parts& p) { p.graph.AddOutput("result", 4); }, "\"result\": no operator writes it"},
  });
}

TEST(Compiler, RefusesAnEmbeddingAfterItsBufferWasRead) {
  Parts parts;
  Graph graph = parts.Build();
  graph.Add(parts.embedding);
  const absl::Status status = Compile(graph, {}).status();
  EXPECT_NE(std::string(status.message()).find("\"embedded\" is written after it was read"), std::string::npos) << status;
}

TEST(Compiler, RefusesShapesThatDoNotFit) {
  ExpectRefused({
      {[](Parts& p) { p.graph.buffers[p.x].columns = 0; }, "buffer 0 \"x\": columns: found 0"},
      {[](Parts& p) { p.graph.buffers[p.out].columns = 60; }, "y: buffer \"out\": columns: found 60, expected 64"},
      {[](Parts& p) { p.graph.buffers[p.x].columns = 32; }, "up: buffer \"x\": columns: found 32, expected 64"},
      {[](Parts& p) { p.graph.buffers[p.gated].columns = 32; }, "y: buffer \"gated\": columns: found 32"},
      {[](Parts& p) { p.graph.buffers[p.normed].columns = 32; }, "operator 2 (RmsNorm): y: buffer \"normed\""},
      {[](Parts& p) { p.rms_norm.groups = 2; }, "weight \"norm\": size: found 16, expected 32"},
      {[](Parts& p) { p.add_bias.weight = p.norm; }, "weight \"norm\": size: found 16, expected 64"},
      {[](Parts& p) { p.add_bias.weight = p.table; }, "weight \"table\": found a matrix, expected a vector"},
      {[](Parts& p) { p.embedding.table = p.norm; }, "weight \"norm\": found a vector, expected a matrix"},
      {[](Parts& p) { p.graph.buffers[p.embedded].columns = 128; }, "y: buffer \"embedded\": columns: found 128, expected 64"},
      {[](Parts& p) { p.graph.weights[p.key].spec.in_features = 63; },
       "weight \"key\": in_features: found 63, expected the 64 columns of x"},
      {[](Parts& p) { p.graph.buffers[p.v].columns = 64, p.mat_mul.products[3].first_column = 33; }, "first_column: found 33"},
      {[](Parts& p) { p.mat_mul.products[3].first_column = -1; }, "first_column: found -1"},
      {[](Parts& p) { p.mat_mul.products[3].first_column = std::numeric_limits<int64_t>::max(); },
       "first_column: found 9223372036854775807"},
      {[](Parts& p) { p.graph.buffers[p.v].columns = 16; }, "expected room for them in 16 columns"},
      {[](Parts& p) { p.graph.buffers[p.turned].columns = 80; }, "operator 5 (Rope): y: buffer \"turned\""},
      {[](Parts& p) { p.graph.buffers[p.mixed].columns = 80; }, "operator 7 (Attention): y: buffer \"mixed\""},
      {[](Parts& p) { p.mat_mul.products[2].adapter = 0; }, "adapter 0: found shape [32, 64], expected [64, 64]"},
      {[](Parts& p) { p.attention.heads = 1, p.rope.heads = 1; },
       "key columns: found 32, expected a multiple of the head size 64"},
  });
}

TEST(Compiler, RefusesProductsThatOverlapOrLeaveColumnsOut) {
  ExpectRefused({
      {[](Parts& p) { p.mat_mul.products[1].first_column = 20; },
       "y: buffer \"qkv\": columns 20 to 23 are written by two products"},
      {[](Parts& p) { p.mat_mul.products[1].first_column = 0; }, "columns 0 to 23 are written by two products"},
      {[](Parts& p) { p.mat_mul.products.erase(p.mat_mul.products.begin()); }, "columns 0 to 23 are written by no product"},
      {[](Parts& p) { p.mat_mul.products.erase(p.mat_mul.products.begin() + 1); }, "columns 24 to 63 are written by no product"},
      {[](Parts& p) { p.graph.buffers[p.k].columns = 33; }, "\"k\": columns 32 to 32 are written by no product"},
      {[](Parts& p) { p.mat_mul.products[3].y = p.k; }, "are written by two products"},
  });
}

TEST(Compiler, RefusesAttributesOutOfRange) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  ExpectRefused({
      {[](Parts& p) { p.rms_norm.epsilon = 0; }, "epsilon: found 0"},
      {[=](Parts& p) { p.rms_norm.epsilon = nan; }, "epsilon: found nan"},
      {[=](Parts& p) { p.rms_norm.epsilon = infinity; }, "epsilon: found inf"},
      {[](Parts& p) { p.rms_norm.groups = 0; }, "groups: found 0"},
      {[](Parts& p) { p.rms_norm.groups = 5; }, "groups: found 5, expected a divisor of the 64 columns"},
      {[](Parts& p) { p.mat_mul.products.clear(); }, "products: found none"},
      {[](Parts& p) { p.rope.heads = 0; }, "operator 5 (Rope): heads: found 0"},
      {[](Parts& p) { p.rope.heads = 3; }, "heads: found 3"},
      {[](Parts& p) { p.rope.dimensions = 0; }, "dimensions: found 0"},
      {[](Parts& p) { p.rope.dimensions = 7; }, "dimensions: found 7"},
      {[](Parts& p) { p.rope.dimensions = 18; }, "dimensions: found 18, expected an even number from 2 to the head size 16"},
      {[](Parts& p) { p.rope.table = -1; }, "table: found -1"},
      {[](Parts& p) { p.rope.table = 1 << 30; }, "table: found 1073741824"},
      {[](Parts& p) { p.store.layer = -1; }, "layer: found -1"},
      {[](Parts& p) { p.attention.layer = -3; }, "layer: found -3"},
      {[](Parts& p) { p.attention.heads = 7; }, "operator 7 (Attention): heads: found 7"},
      {[](Parts& p) { p.attention.window = -1; }, "window: found -1"},
      {[=](Parts& p) { p.attention.scale = nan; }, "scale: found nan"},
      {[=](Parts& p) { p.embedding.scale = infinity; }, "scale: found inf"},
      {[](Parts& p) { p.embedding.first_token = -1; }, "first_token: found -1"},
      {[](Parts& p) { p.graph.adapters = -1; }, "adapters: found -1"},
      {[](Parts& p) { p.graph.weights[p.norm].spec.out_features = 0; }, "weight 1 \"norm\": found a vector of F32 [0, 1]"},
      {[](Parts& p) { p.graph.weights[p.left].spec.out_features = 0; }, "weight 2: left"},
  });
}

TEST(Compiler, RefusesOneRopeTableWithTwoSizesAndTwoShapesOfKeys) {
  Parts parts;
  Graph graph = parts.Build();
  const BufferId again = graph.AddScratch("again", 64);
  graph.Add(Rope{.x = parts.x, .y = again, .heads = 4, .dimensions = 8, .table = 0});
  EXPECT_NE(std::string(Compile(graph, {}).status().message()).find("dimensions: found 8, expected 16"), std::string::npos);
  graph.operators.back() = StoreKeyValue{.key = parts.x, .value = parts.x};
  EXPECT_NE(std::string(Compile(graph, {}).status().message()).find("key: buffer \"x\": columns: found 64, expected 32"),
            std::string::npos);
  graph.operators.back() = Attention{.query = parts.x, .y = again, .heads = 8, .scale = 1};
  EXPECT_NE(std::string(Compile(graph, {}).status().message()).find("head size: found 8"), std::string::npos);
}

TEST(Compiler, SizesThatOverflowAreErrors) {
  Graph graph;
  const int64_t huge = int64_t{1} << 60;
  const BufferId x = graph.AddInput("x", huge), y = graph.AddScratch("y", huge);
  graph.Add(Add{.a = x, .b = x, .y = y});
  EXPECT_EQ(Compile(graph, {}).status().code(), absl::StatusCode::kOutOfRange);
  graph = {};
  graph.AddMatrix({"w", BlockFormat::kF32, huge, 64});
  EXPECT_EQ(Compile(graph, {}).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera
