#include "tessera/model/pass_cost.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

DeviceProfile Phone() { return Must(LoadDeviceProfile("8gen3")); }

PassCoster CosterOf(const std::string& name, const char* style, const char* recipe, const DeviceProfile& profile, int context = 2048) {
  const std::unique_ptr<GgufFile> shape = Must(OpenKnownShape(name));
  const ModelConfig config = Must(ReadModelConfig(*shape));
  const WeightLayout layout = Must(WeightLayout::Plan(*shape, config, WeightEncoding::kPacked));
  return Must(PassCoster::Create(config, layout, Must(WeightRecipe::Parse(recipe)), profile,
                                 {.style = Must(ExecutionStyleByName(style)), .context = context}));
}

TEST(PassCoster, HeaderExample) {
  const std::unique_ptr<GgufFile> shape = Must(OpenKnownShape("smollm2-135m"));
  const ModelConfig config = Must(ReadModelConfig(*shape));
  const WeightLayout layout = Must(WeightLayout::Plan(*shape, config, WeightEncoding::kPacked));
  const DeviceProfile profile = Phone();
  const ExecutionStyle style = Must(ExecutionStyleByName("static"));
  const PassCoster coster =
      Must(PassCoster::Create(config, layout, Must(WeightRecipe::Parse("qnn")), profile, {.style = style, .context = 4096}));
  const PassCost pass = Must(coster.Of({.rows = 8, .positions = 640, .logit_rows = 8}));
  const PassCost prompt = Must(coster.OfPrompt(/*tokens=*/512, /*chunk_rows=*/512));
  EXPECT_GT(pass.seconds, 0);
  EXPECT_GT(prompt.seconds, pass.seconds);
  EXPECT_GT(coster.memory().weights, 0);
}

TEST(PassCoster, APromptIsTheSumOfItsChunks) {
  const PassCoster coster = CosterOf("qwen2.5-0.5b", "operators", "001", Phone());
  const double first = Must(coster.Of({.rows = 300, .positions = 300, .logit_rows = 0})).seconds;
  const double second = Must(coster.Of({.rows = 200, .positions = 500, .logit_rows = 1})).seconds;
  EXPECT_DOUBLE_EQ(Must(coster.OfPrompt(500, 300)).seconds, first + second);
}

// Walked graph by graph, a pass is the same: each layer in its turn, then the output norm and the head, and all of its time.
TEST(PassCoster, WalksTheGraphsOfAPassInOrder) {
  for (const char* style : {"operators", "static", "unshared"}) {
    const PassCoster coster = CosterOf("qwen2.5-0.5b", style, "qnn", Phone());
    const PassShape shape = {.rows = 4, .positions = 200, .logit_rows = 4};
    const PassCost pass = Must(coster.Of(shape));
    double seconds = pass.call_seconds;
    std::vector<int> layers;
    std::map<std::string, int> last_operators;
    ASSERT_TRUE(coster.Walk(shape, [&](int layer, const Graph& graph, const GraphCost& cost) {
      seconds += cost.seconds;
      layers.push_back(layer);
      if (layer == 24) ++last_operators[std::string(OperatorName(graph.operators.back()))];
    }).ok());
    EXPECT_NEAR(seconds, pass.seconds, 1e-12) << style;
    EXPECT_TRUE(std::is_sorted(layers.begin(), layers.end()));
    EXPECT_GE(layers.size(), 26u) << "24 layers, the norm, and the parts of the head";
    EXPECT_EQ(layers[23], 23);
    EXPECT_EQ(layers[24], 24);
    EXPECT_EQ(last_operators["Linear"], static_cast<int>(layers.size()) - 25) << "the norm comes first";
  }
}

TEST(PassCoster, APassWithoutLogitsHasNoHead) {
  const PassCoster coster = CosterOf("qwen2.5-0.5b", "static", "qnn", Phone());
  int graphs = 0;
  ASSERT_TRUE(coster.Walk({.rows = 1, .positions = 1, .logit_rows = 0}, [&](int, const Graph&, const GraphCost&) { ++graphs; }).ok());
  EXPECT_EQ(graphs, 24);
}

// What bounds a kind of operator is what bounds most of its time: layers are not alike, and neither are the passes of a prompt.
TEST(PassCoster, AKindIsBoundByTheBoundOfMostOfItsTime) {
  const PassCoster coster = CosterOf("gemma-3-1b", "operators", "001", Phone());
  for (const PassCost& pass : {Must(coster.Of({.rows = 1, .positions = 2000})), Must(coster.OfPrompt(1100, 512))}) {
    double all = pass.call_seconds;
    for (const auto& [label, cost] : pass.operators) {
      double sum = 0, most = 0;
      for (const double seconds : cost.bounded) {
        sum += seconds;
        most = std::max(most, seconds);
      }
      EXPECT_NEAR(sum, cost.seconds, 1e-12) << label;
      EXPECT_EQ(cost.bounded[static_cast<size_t>(cost.bound)], most) << label;
      all += sum;
    }
    EXPECT_NEAR(all, pass.seconds, 1e-9);
  }
}

// A static prompt graph runs all its rows, whatever the prompt's length.
TEST(PassCoster, AStaticPromptPaysForWholeChunks) {
  const PassCoster coster = CosterOf("qwen2.5-0.5b", "static", "qnn", Phone());
  EXPECT_EQ(Must(coster.OfPrompt(1, 128)).seconds, Must(coster.OfPrompt(128, 128)).seconds);
  EXPECT_LT(Must(coster.OfPrompt(128, 128)).seconds, Must(coster.OfPrompt(129, 128)).seconds);
}

// Bytes by hand: SmolLM2's layers in tiles of 4.5 bits with FFN-down of 8.5, vectors of FP32; embedding table and head are one, the CPU's.
TEST(PassCoster, MemoryIsThatOfTheFormsOnThePhone) {
  const PassCoster coster = CosterOf("smollm2-135m", "operators", "001", Phone(), 1024);
  constexpr int64_t kLayers = 30, kWidth = 576, kKeys = 192, kInner = 1536, kRows = 49152;
  const auto tiles = [](int64_t in, int64_t out, int64_t bytes) { return in / 32 * out / 32 * bytes; };
  const int64_t layer = 2 * tiles(kWidth, kWidth, 576) + 2 * tiles(kWidth, kKeys, 576) + 2 * tiles(kWidth, kInner, 576) +
                        tiles(kInner, kWidth, 1088) + 2 * kWidth * 4;
  EXPECT_EQ(coster.memory().weights, kLayers * layer + kWidth * 4);
  EXPECT_EQ(coster.memory().cpu_weights, kRows * kWidth / 32 * 34) << "Q8_0";
  EXPECT_EQ(coster.memory().keys_and_values, int64_t{2} * kKeys * kLayers * 1024 * 2);
  EXPECT_GT(coster.bits_per_weight(), 4.5);
  EXPECT_LT(coster.bits_per_weight(), 8.5);
}

TEST(PassCoster, SaysHowManySessionsAModelNeeds) {
  DeviceProfile small = Phone();
  const PassCoster one = CosterOf("llama-3.2-1b", "static", "qnn", small);
  EXPECT_EQ(one.sessions(), 1);
  small.session_bytes = 512 << 20;
  const PassCoster many = CosterOf("llama-3.2-1b", "static", "qnn", small);
  const int64_t bytes = many.memory().weights + many.memory().keys_and_values + many.memory().activations;
  EXPECT_EQ(many.sessions(), (bytes + (512 << 20) - 1) / (512 << 20));
  EXPECT_GT(many.sessions(), 1);
}

TEST(PassCoster, AdaptersAsInputsCost) {
  const std::unique_ptr<GgufFile> shape = Must(OpenKnownShape("llama-3.2-1b"));
  const ModelConfig config = Must(ReadModelConfig(*shape));
  const WeightLayout layout = Must(WeightLayout::Plan(*shape, config, WeightEncoding::kPacked));
  const WeightRecipe recipe = Must(WeightRecipe::Parse("qnn"));
  const DeviceProfile profile = Phone();
  const auto seconds = [&](int rank) {
    const PassCoster::Options options = {.style = Must(ExecutionStyleByName("static")), .context = 1024, .adapter_rank = rank};
    const PassCoster coster = Must(PassCoster::Create(config, layout, recipe, profile, options));
    return Must(coster.Of({.rows = 1})).seconds;
  };
  EXPECT_LT(seconds(0), seconds(16));
  EXPECT_LT(seconds(16), seconds(64));
  const PassCoster without = Must(PassCoster::Create(config, layout, recipe, profile, {.style = Must(ExecutionStyleByName("static")),
                                                                                       .context = 1024}));
  const auto with = [&](int rank, bool masked) { return Must(without.WithAdapters(rank, masked).Of({.rows = 1})).seconds; };
  EXPECT_EQ(with(16, false), seconds(16));
  EXPECT_EQ(with(0, false), seconds(0));
  // The mask is an operator more of each of seven products in 16 layers, where the adapter is two.
  const double mask = with(16, true) - with(16, false);
  EXPECT_GE(mask, 7 * 16 * profile.operator_seconds);
  EXPECT_LT(mask, with(16, false) - with(0, false));
  EXPECT_LT(with(32, true), with(4096, true)) << "all ranks under a mask together may be more than kernels take";
}

TEST(PassCoster, OptionsOutOfRangeAreRefused) {
  const std::unique_ptr<GgufFile> shape = Must(OpenKnownShape("smollm2-135m"));
  const ModelConfig config = Must(ReadModelConfig(*shape));
  const WeightLayout layout = Must(WeightLayout::Plan(*shape, config, WeightEncoding::kPacked));
  const auto error = [&](const PassCoster::Options& options) {
    return std::string(PassCoster::Create(config, layout, {}, Phone(), options).status().message());
  };
  EXPECT_EQ(error({.context = 0}), "cost of passes: context: found 0, expected 1 to 16777216");
  EXPECT_EQ(error({.most_rows = -3}), "cost of passes: most rows: found -3, expected 1 to 1048576");
  EXPECT_EQ(error({.adapter_rank = 5000}), "cost of passes: adapter rank: found 5000, expected 0 to 1024");
  const PassCoster coster = CosterOf("smollm2-135m", "static", "qnn", Phone());
  EXPECT_EQ(std::string(coster.OfPrompt(0, 1).status().message()), "cost of passes: prompt: found 0, expected 1 to 16777216");
}

}  // namespace
}  // namespace tessera
