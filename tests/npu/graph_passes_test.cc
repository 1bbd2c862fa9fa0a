#include "tessera/npu/graph_passes.h"

#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/fold_biases.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/varied_block.h"

namespace tessera {
namespace {

// A block in which each pass finds something to do.
VariedShape Everything() {
  return {.width = 70, .inner = 150, .heads = 6, .kv_heads = 2, .head_size = 20, .rope_dimensions = 20, .window = 19, .bias = true,
          .head_norms = true, .adapters = true};
}

// The graph with no pass done, with each alone, and with the first so many.
std::vector<Graph> InForms(const Graph& graph) {
  std::vector<Graph> graphs = {Untransformed(graph)};
  Graph so_far = graphs[0];
  for (const GraphPass& pass : GraphPasses()) {
    graphs.push_back(pass.apply(graphs[0]));
    so_far = pass.apply(std::move(so_far));
    graphs.push_back(so_far);
  }
  return graphs;
}

TEST(GraphPasses, HeaderExample) {
  const Graph before = VariedBlock(Everything());
  Graph graph = before;
  graph = Untransformed(std::move(graph));
  EXPECT_NE(GraphText(graph), GraphText(before));
  for (const GraphPass& pass : GraphPasses()) graph = pass.apply(std::move(graph));
  EXPECT_EQ(GraphText(graph), GraphText(before));
}

TEST(GraphPasses, EachSetsItsPartOfTheFormAndNothingElse) {
  const Graph before = Untransformed(VariedBlock(Everything()));
  Graph (*const passes[])(Graph) = {SplitHeads, MakeConvolutions, FoldScalars, SplitAdapters, TransposeKeys};
  ASSERT_EQ(GraphPasses().size(), std::size(passes));
  for (size_t i = 0; i < std::size(passes); ++i) {
    const GraphPass& pass = GraphPasses()[i];
    EXPECT_EQ(pass.apply, passes[i]) << pass.name;
    Graph after = pass.apply(before);
    EXPECT_TRUE(after.form.*pass.done) << pass.name;
    after.form.*pass.done = false;
    EXPECT_EQ(after.form, before.form) << pass.name;
    EXPECT_EQ(GraphText(after), GraphText(before)) << pass.name;
  }
}

TEST(GraphPasses, ASecondTimeChangesNothingAndOrderDoesNotMatter) {
  const Graph before = Untransformed(VariedBlock(Everything()));
  for (const GraphPass& first : GraphPasses()) {
    const Graph once = first.apply(before);
    EXPECT_EQ(GraphText(first.apply(once)), GraphText(once)) << first.name;
    for (const GraphPass& second : GraphPasses()) {
      EXPECT_EQ(GraphText(second.apply(once)), GraphText(first.apply(second.apply(before)))) << first.name << ", " << second.name;
    }
  }
}

TEST(GraphPasses, AGraphWithNothingToTransformIsUnchanged) {
  Graph sum;
  const BufferId a = sum.AddInput("a", 8), b = sum.AddInput("b", 8);
  sum.Add(Add{.a = a, .b = b, .y = sum.AddOutput("y", 8)});
  const std::string text = GraphText(sum);
  EXPECT_EQ(GraphText(Untransformed(sum)), text);
  sum.form = {.split_heads = false, .convolutions = false, .folded_scalars = false, .split_adapters = false, .transposed_keys = false};
  for (const GraphPass& pass : GraphPasses()) {
    EXPECT_FALSE(pass.finds(sum)) << pass.name;
    EXPECT_EQ(pass.apply(sum).form, sum.form) << pass.name;
  }
  VariedShape plain = Everything();
  plain.adapters = false;
  EXPECT_TRUE(Untransformed(VariedBlock(plain)).form.split_adapters);
}

// A bias is one whether the matrix unit adds it or not.
TEST(GraphPasses, ScalarsAreFoundBesideTheirProductsAndInThem) {
  Graph graph;
  const BufferId x = graph.AddInput("x", 32), plain = graph.AddScratch("plain", 64), y = graph.AddOutput("y", 64);
  graph.Add(Linear{.x = x, .products = {{.weight = graph.AddMatrix({"w", BlockFormat::kQ4_0, 64, 32}, TileScheme{}), .y = plain}}});
  EXPECT_EQ(FoldScalars(Untransformed(graph)).form, GraphForm({.convolutions = false})) << "none";
  graph.Add(AddBias{.x = plain, .weight = graph.AddVector("b", 64), .y = y});
  EXPECT_FALSE(Untransformed(graph).form.folded_scalars);
  EXPECT_FALSE(Untransformed(FoldBiases(graph)).form.folded_scalars);
}

// Devices keep equal graphs once, by their texts.
TEST(GraphPasses, EachFormHasATextOfItsOwn) {
  const Graph graph = VariedBlock(Everything());
  std::set<std::string> texts;
  for (int done = 0; done < 32; ++done) {
    Graph formed = graph;
    for (size_t i = 0; i < GraphPasses().size(); ++i) formed.form.*GraphPasses()[i].done = (done >> i & 1) != 0;
    texts.insert(GraphText(formed));
  }
  EXPECT_EQ(texts.size(), 32u);
  EXPECT_EQ(GraphText(graph).find("form "), std::string::npos) << "the form that all graphs have is not worth a line";
}

void ExpectTheSameBits(const Graph& graph, Device& device) {
  const PairedRun::Options options = {.seed = 7, .kv_heads = 2, .head_size = 20};
  PairedRun plain(graph, options);
  const RowOutputs expected = plain.On(device, Chain(23));
  for (const Graph& formed : InForms(graph)) {
    PairedRun run(formed, options);
    EXPECT_EQ(run.compiled().graph.form, formed.form) << "Compile keeps it";
    const RowOutputs found = run.On(device, Chain(23));
    for (size_t r = 0; r < expected.size(); ++r) ASSERT_TRUE(SameBits(found[r], expected[r])) << device.name() << " row " << r;
  }
}

TEST(GraphPasses, BitsAreTheSameInEachForm) {
  ThreadPool pool(2);
  ReferenceDevice reference;
  HostDevice host(pool);
  HmxDevice hmx(pool, {.kv_block = 16});
  VariedShape shape = Everything();
  ExpectTheSameBits(VariedBlock(shape), reference);
  ExpectTheSameBits(VariedBlock(shape), host);
  constexpr TileScheme kChannel = {TileCode::kInt4, TileScales::kChannel, TileInput::kInt16};
  for (const std::vector<TileScheme>& tiles : {std::vector{TileScheme{}}, {kChannel}, {TileScheme{}, kChannel}}) {
    shape.tiles = tiles;
    ExpectTheSameBits(VariedBlock(shape), reference);
    ExpectTheSameBits(VariedBlock(shape), hmx);
  }
}

}  // namespace
}  // namespace tessera
