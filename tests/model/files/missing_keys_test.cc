// What files mean that leave keys out: the values that all models of an architecture have, or a refusal by the key's name.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

using F = BlockFormat;

absl::StatusOr<ModelConfig> Read(const TinyModel& model, const std::function<void(GgufBuilder&)>& change) {
  GgufBuilder builder = TinyModelBuilder(model);
  change(builder);
  const std::string bytes = builder.Build();
  ASSIGN_OR_RETURN(const auto file, GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  return ReadModelConfig(*file);
}

void Nothing(GgufBuilder&) {}

// As Ollama's converter writes gemma3 models that take images: no epsilon, no head size, no base, no factor.
void AsOllama(GgufBuilder& builder) {
  for (const char* key : {"attention.layer_norm_rms_epsilon", "attention.key_length", "attention.value_length"}) {
    builder.Remove(absl::StrCat("gemma3.", key));
  }
  builder.Number("gemma3.mm.tokens_per_image", 256u).Number("gemma3.vision.block_count", 27u);
}

TEST(MissingKeys, TheBaseIsThatOfTheArchitecture) {
  for (const char* architecture : ArchitecturesBut({"gemma3"})) {
    EXPECT_EQ(Must(Read({.architecture = architecture}, Nothing)).ropes[0].base, 10'000) << architecture;
  }
  const ModelConfig gemma = Must(Read({.architecture = "gemma3", .layers = 7, .window = 6}, Nothing));
  EXPECT_EQ(gemma.ropes[0].base, 1'000'000);
  EXPECT_EQ(gemma.ropes[static_cast<size_t>(gemma.layers[0].rope)].base, 10'000);
  EXPECT_EQ(gemma.layers[5].rope, 0);
}

TEST(MissingKeys, Gemma3FilesByOllamaHaveTheValuesOfTheirModels) {
  const TinyModel model = {.architecture = "gemma3", .heads = 2, .head_size = 24, .layers = 34, .window = 6, .formats = {F::kF32}};
  const ModelConfig config = Must(Read(model, AsOllama));
  EXPECT_EQ(config.norm_epsilon, 1e-6f);
  EXPECT_EQ(config.head_size, 24);  // As the tensors have it, where the width per head is 32.
  EXPECT_EQ(config.ropes[0].base, 1'000'000);
  EXPECT_EQ(config.ropes[0].scaling, RopeConfig::Scaling::kLinear);
  EXPECT_EQ(config.ropes[0].factor, 8);
  EXPECT_EQ(config.ropes[1].base, 10'000);
  EXPECT_EQ(config.ropes[1].scaling, RopeConfig::Scaling::kNone);
}

// The factor is that of the sizes from 4B on, unless the file says another.
TEST(MissingKeys, OnlyTheLargeGemma3HaveAFactor) {
  const auto scaling = [](int layers, const std::function<void(GgufBuilder&)>& change) {
    return Must(Read({.architecture = "gemma3", .width = 32, .feed_forward = 32, .heads = 2, .kv_heads = 1, .layers = layers, .window = 6},
                     change)).ropes[0].scaling;
  };
  for (const int layers : {18, 26, 32}) EXPECT_EQ(scaling(layers, Nothing), RopeConfig::Scaling::kNone) << layers;
  for (const int layers : {34, 48, 62}) EXPECT_EQ(scaling(layers, Nothing), RopeConfig::Scaling::kLinear) << layers;
  EXPECT_EQ(scaling(34, [](GgufBuilder& b) { b.String("gemma3.rope.scaling.type", "none"); }), RopeConfig::Scaling::kNone);
}

TEST(MissingKeys, OtherArchitecturesMustSayTheEpsilon) {
  for (const std::string architecture : ArchitecturesBut({"gemma3"})) {
    const std::string key = architecture + ".attention.layer_norm_rms_epsilon";
    const absl::Status status = Read({.architecture = architecture}, [&](GgufBuilder& b) { b.Remove(key); }).status();
    EXPECT_EQ(status, absl::NotFoundError("tiny: metadata \"" + key + "\": found no such key"));
  }
}

TEST(MissingKeys, TheSizeOfAHeadIsThatOfTheTensors) {
  for (const std::string architecture : kArchitectures) {
    const ModelConfig config = Must(Read({.architecture = architecture, .head_size = 24, .formats = {F::kF32}}, [&](GgufBuilder& builder) {
      for (const char* key : {".attention.key_length", ".attention.value_length"}) builder.Remove(architecture + key);
    }));
    EXPECT_EQ(config.head_size, 24) << architecture;
    EXPECT_EQ(config.ropes[0].dimensions, 24) << architecture;
  }
}

// Ollama's converter writes YaRN's numbers without "yarn_", and for each special token whether texts have it, and all its ids.
TEST(MissingKeys, OtherNamesOfYarnsNumbersAreRead) {
  const ModelConfig config = Must(Read({}, [](GgufBuilder& builder) {
    builder.String("llama.rope.scaling.type", "yarn").Number("llama.rope.scaling.factor", 4.0f);
    builder.Number("llama.rope.scaling.beta_fast", 16.0f).Number("llama.rope.scaling.beta_slow", 2.0f);
    builder.Number("llama.rope.scaling.ext_factor", 0.5f);
  }));
  EXPECT_EQ(config.ropes[0].beta_fast, 16);
  EXPECT_EQ(config.ropes[0].beta_slow, 2);
  EXPECT_EQ(config.ropes[0].ext_factor, 0.5);
  const absl::Status both = Read({}, [](GgufBuilder& builder) {
    builder.Number("llama.rope.scaling.beta_fast", 16.0f).Number("llama.rope.scaling.yarn_beta_fast", 32.0f);
  }).status();
  EXPECT_NE(both.message().find("found 16, expected 32, as in llama.rope.scaling.yarn_beta_fast"), absl::string_view::npos) << both;
}

}  // namespace
}  // namespace tessera
