#include "tessera/model/files/internal/architecture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/loaded_weights.h"

namespace tessera {
namespace {

std::unique_ptr<GgufFile> Golden(const std::string& name) {
  return Must(GgufFile::Open(absl::StrCat(TESSERA_SOURCE_DIR, "/tests/golden/tiny/", name, ".gguf")));
}
ModelConfig GoldenConfig(const std::string& name) { return Must(ReadModelConfig(*Golden(name))); }

TEST(Architecture, HeaderExample) {
  const auto golden = Golden("qwen3");
  const GgufFile& file = *golden;
  const auto run = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture("qwen3"));
    ASSIGN_OR_RETURN(ModelConfig config, architecture->configure(file));
    return config.architecture;
  };
  EXPECT_EQ(Must(run()), "qwen3");
}

TEST(Architecture, AllAreRegistered) {
  const std::set<std::string> shared = {"common", "decoder_keys", "families", "other_parts", "registry", "windows"};
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/model/files/architectures")) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() != ".cc" || shared.count(name) == 1) continue;
    EXPECT_EQ(Must(FindArchitecture(name))->name, name);
  }
  EXPECT_EQ(FindArchitecture("Llama").status(),
            absl::NotFoundError("found \"Llama\", expected one of llama, qwen2, qwen3, gemma3"));
}

// One line an architecture: what it adds to a plain decoder.
TEST(Architecture, PartsOfEach) {
  struct Parts { std::string name; RopePairs pairs; Activation activation; bool bias, head_norms, post_norms, tied; };
  const Parts all[] = {{"llama", RopePairs::kAdjacent, Activation::kSilu, false, false, false, false},
                       {"llama_tied", RopePairs::kAdjacent, Activation::kSilu, false, false, false, true},
                       {"qwen2", RopePairs::kHalves, Activation::kSilu, true, false, false, true},
                       {"qwen3", RopePairs::kHalves, Activation::kSilu, false, true, false, false},
                       {"gemma3", RopePairs::kHalves, Activation::kGeluTanh, false, true, true, true}};
  for (const Parts& parts : all) {
    const ModelConfig config = GoldenConfig(parts.name);
    EXPECT_EQ(config.rope_pairs, parts.pairs) << parts.name;
    EXPECT_EQ(config.activation, parts.activation) << parts.name;
    const LayerBiases& biases = config.layers[0].biases;
    for (const bool of_attention : {biases.query, biases.key, biases.value}) EXPECT_EQ(of_attention, parts.bias) << parts.name;
    EXPECT_FALSE(biases.output || biases.gate || biases.up || biases.down || config.head_bias) << parts.name;
    EXPECT_EQ(config.query_key_norm, parts.head_norms) << parts.name;
    EXPECT_EQ(config.post_norms, parts.post_norms) << parts.name;
    EXPECT_EQ(config.tied_head, parts.tied) << parts.name;
    EXPECT_EQ(config.width, 64) << parts.name;
    EXPECT_EQ(config.vocabulary, 271) << parts.name;
    EXPECT_EQ(config.embedding_scale, parts.name == "gemma3" ? 8.0f : 1.0f) << parts.name;
  }
}

TEST(Architecture, Qwen3HasHeadsOfTheirOwnSize) {
  const ModelConfig config = GoldenConfig("qwen3");
  EXPECT_EQ(config.head_size, 32);
  EXPECT_NE(config.head_size * config.heads, config.width);
}

TEST(Architecture, ScalingOfPositions) {
  const ModelConfig plain = GoldenConfig("llama"), linear = GoldenConfig("llama_linear"), yarn = GoldenConfig("llama_yarn");
  EXPECT_EQ(plain.ropes[0].scaling, RopeConfig::Scaling::kNone);
  EXPECT_EQ(plain.ropes[0].factor, 1);
  EXPECT_EQ(linear.ropes[0].scaling, RopeConfig::Scaling::kLinear);
  EXPECT_GT(linear.ropes[0].factor, 1);
  EXPECT_EQ(yarn.ropes[0].scaling, RopeConfig::Scaling::kYarn);
  EXPECT_GT(yarn.ropes[0].factor, 1);
  EXPECT_GT(yarn.ropes[0].original_context, 0);

  const std::vector<float> factors = GoldenConfig("llama3_rope").ropes[0].frequency_factors;
  ASSERT_EQ(factors.size(), 8u);
  EXPECT_EQ(factors.front(), 1);  // Fast turns stay, slow ones are slowed down.
  EXPECT_GT(factors.back(), 1);
}

TEST(Architecture, Gemma3LayersWithAWindowHaveTheirOwnRotation) {
  const ModelConfig config = GoldenConfig("gemma3");
  ASSERT_EQ(config.ropes.size(), 2u);
  EXPECT_EQ(config.ropes[0].base, 1e6);
  EXPECT_EQ(config.ropes[1].base, 1e4);
  ASSERT_EQ(config.layers.size(), 7u);
  for (int layer = 0; layer < 7; ++layer) {
    EXPECT_EQ(config.layers[layer].window, layer == 5 ? 0 : 16) << layer;
    EXPECT_EQ(config.layers[layer].rope, layer == 5 ? 0 : 1) << layer;
  }
}

// Scaling is for the layers that see everything.
TEST(Architecture, Gemma3ScalesGlobalLayersOnly) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3", .layers = 7, .window = 6});
  builder.String("gemma3.rope.scaling.type", "linear").Number("gemma3.rope.scaling.factor", 8.0f);
  const LoadedWeights model(builder);
  EXPECT_EQ(model.config().ropes[0].factor, 8);
  EXPECT_EQ(model.config().ropes[0].scaling, RopeConfig::Scaling::kLinear);
  EXPECT_EQ(model.config().ropes[1].scaling, RopeConfig::Scaling::kNone);
}

TEST(Architecture, Gemma3NamesAWrongLocalBase) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3", .layers = 1, .window = 6});
  builder.Number("gemma3.rope.freq_base_swa", 0.0f);
  const std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  EXPECT_EQ(ReadModelConfig(*file).status().message(),
            absl::StrCat("tiny: metadata \"gemma3.rope.freq_base_swa\" value at byte ",
                         builder.OffsetOf("metadata gemma3.rope.freq_base_swa value"), ": found 0, expected a finite number above 0"));
}

TEST(Architecture, Gemma3MayHaveASoftCapOfLogits) {
  const auto read = [](float cap) {
    const std::string bytes = TinyModelBuilder({.architecture = "gemma3"}).Number("gemma3.final_logit_softcapping", cap).Build();
    return ReadModelConfig(*Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny")));
  };
  EXPECT_EQ(Must(read(30)).logit_cap, 30);
  EXPECT_EQ(Must(read(0)).logit_cap, 0);
  for (const float wrong : {-30.0f, NAN, INFINITY}) EXPECT_EQ(read(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
}

TEST(Architecture, Gemma3WindowsMayBeWiderThanTheContext) {
  const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .context = 128, .window = 129}));
  EXPECT_EQ(model.config().layers[0].window, 129);
}

// The 27B model scales by its width per head instead of its head size.
TEST(Architecture, Gemma3Of62LayersScalesAttentionByWidth) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3", .heads = 8, .kv_heads = 8, .layers = 1});
  builder.Corrupt<uint32_t>("metadata gemma3.block_count value", 62);
  const std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  EXPECT_FLOAT_EQ(Must(ReadModelConfig(*file)).attention_scale, 1 / std::sqrt(64.0f / 8));
}

}  // namespace
}  // namespace tessera
