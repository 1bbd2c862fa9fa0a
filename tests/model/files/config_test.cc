#include "tessera/model/files/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

absl::StatusOr<ModelConfig> Read(const TinyModel& model, const std::function<void(GgufBuilder&)>& change) {
  GgufBuilder builder = TinyModelBuilder(model);
  change(builder);
  const std::string bytes = builder.Build();
  ASSIGN_OR_RETURN(const auto file, GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  return ReadModelConfig(*file);
}

// The message, once it was seen to be an InvalidArgument.
std::string Refusal(const std::function<void(GgufBuilder&)>& change, const TinyModel& model = {}) {
  const absl::Status status = Read(model, change).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

std::function<void(GgufBuilder&)> Uint(const std::string& key, uint32_t value) {
  return [=](GgufBuilder& builder) { builder.Corrupt<uint32_t>("metadata llama." + key + " value", value); };
}

TEST(ModelConfig, HeaderExample) {
  int used = 0;
  const auto Use = [&](int window, const RopeConfig& rope) {
    EXPECT_EQ(window, used == 5 ? 0 : 6);              // Every sixth layer sees everything,
    EXPECT_EQ(rope.base, used == 5 ? 1e6 : 1e4);       // and has its own base.
    ++used;
  };
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3", .layers = 7, .window = 6});
  builder.Number("gemma3.rope.freq_base", 1e6f);
  const std::string bytes = builder.Build();
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto file, GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
    ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(*file));
    for (const LayerConfig& layer : config.layers) Use(layer.window, config.ropes[layer.rope]);
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(used, 7);
}

TEST(ModelConfig, ReadsTheFactsOfTheFile) {
  const ModelConfig config = Must(Read({.head_size = 24, .layers = 3, .context = 77}, [](GgufBuilder&) {}));
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.width, 64);
  EXPECT_EQ(config.feed_forward, 96);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_size, 24);
  EXPECT_EQ(config.vocabulary, kTinyVocabulary);
  EXPECT_EQ(config.context_length, 77);
  EXPECT_EQ(config.layers.size(), 3u);
  EXPECT_EQ(config.norm_epsilon, 1e-5f);
  EXPECT_FLOAT_EQ(config.attention_scale, 0.20412415f);  // 1 / sqrt(24)
  EXPECT_EQ(config.ropes[0].dimensions, 24);
  EXPECT_EQ(config.ropes[0].base, 10'000);
}

TEST(ModelConfig, YarnTakesItsParametersFromTheFile) {
  const auto yarn = [](float ext_factor) {
    return [=](GgufBuilder& builder) {
      builder.String("llama.rope.scaling.type", "yarn").Number("llama.rope.scaling.factor", 4.0f);
      builder.Number("llama.rope.scaling.yarn_ext_factor", ext_factor);
      builder.Number("llama.rope.scaling.yarn_beta_fast", 24.0f).Number("llama.rope.scaling.yarn_beta_slow", 2.0f);
    };
  };
  const ModelConfig config = Must(Read({}, yarn(0.5f)));
  EXPECT_EQ(config.ropes[0].ext_factor, 0.5);
  EXPECT_EQ(config.ropes[0].beta_fast, 24);
  EXPECT_EQ(config.ropes[0].beta_slow, 2);
  EXPECT_EQ(Refusal(yarn(-1)),
            "tiny: metadata \"llama.rope.scaling.yarn_ext_factor\" value at byte 4612: found -1, expected 0 to 1");
}

TEST(ModelConfig, SizesOutOfRangeAreNamed) {
  EXPECT_EQ(Refusal(Uint("embedding_length", 0)),
            "tiny: metadata \"llama.embedding_length\" value at byte 139: found 0, expected 1 to 1048576");
  EXPECT_EQ(Refusal(Uint("feed_forward_length", 1 << 21)),
            "tiny: metadata \"llama.feed_forward_length\" value at byte 180: found 2097152, expected 1 to 1048576");
  EXPECT_EQ(Refusal(Uint("block_count", 5000)),
            "tiny: metadata \"llama.block_count\" value at byte 213: found 5000, expected 1 to 4096");
  EXPECT_EQ(Refusal(Uint("context_length", 0)),
            "tiny: metadata \"llama.context_length\" value at byte 101: found 0, expected 1 to 16777216");
  EXPECT_EQ(Refusal(Uint("attention.head_count", 0)),
            "tiny: metadata \"llama.attention.head_count\" value at byte 255: found 0, expected 1 to 4096");
}

TEST(ModelConfig, HeadsThatDoNotShareEvenlyAreNamed) {
  EXPECT_EQ(Refusal(Uint("attention.head_count_kv", 3)),
            "tiny: metadata \"llama.attention.head_count_kv\" value at byte 300: found 3, "
            "expected a divisor of the head count 4");
  EXPECT_EQ(Refusal(Uint("attention.head_count_kv", 0)),
            "tiny: metadata \"llama.attention.head_count_kv\" value at byte 300: found 0, expected 1 to 4096");
  EXPECT_EQ(Refusal(Uint("attention.value_length", 8)),
            "tiny: metadata \"llama.attention.value_length\" value at byte 386: found 8, expected the key length 16");
}

TEST(ModelConfig, AWrongEpsilonIsNamed) {
  const auto epsilon = [](float value) {
    return [=](GgufBuilder& builder) { builder.Corrupt<float>("metadata llama.attention.layer_norm_rms_epsilon value", value); };
  };
  EXPECT_EQ(Refusal(epsilon(0)),
            "tiny: metadata \"llama.attention.layer_norm_rms_epsilon\" value at byte 440: found 0, expected above 0 and below 1");
  EXPECT_EQ(Refusal(epsilon(NAN)),
            "tiny: metadata \"llama.attention.layer_norm_rms_epsilon\" value at byte 440: found nan, "
            "expected above 0 and below 1");
}

// Other readers load lists of equal numbers, one for each layer.
TEST(ModelConfig, AListOfEqualNumbersForAllLayersIsThatNumber) {
  for (const char* key : {"llama.attention.head_count", "llama.attention.head_count_kv", "llama.feed_forward_length"}) {
    const auto list = [&](std::vector<int32_t> numbers) {
      return [=](GgufBuilder& builder) { builder.Remove(key).Numbers(key, numbers); };
    };
    const ModelConfig config = Must(Read({}, list({4, 4})));
    EXPECT_TRUE(config.heads == 4 && (config.kv_heads == 4 || config.kv_heads == 2)) << key;
    EXPECT_NE(Refusal(list({4, 2})).find("found 2, expected 4, as in the first layer"), std::string::npos) << key;
    EXPECT_NE(Refusal(list({-4, -4})).find("found -4, expected 1 to "), std::string::npos) << key;
    EXPECT_NE(Refusal(list({4})).find("found an array of 1 INT32, expected a number, or one for each of 2 layers"), std::string::npos);
    EXPECT_NE(Refusal(list({})).find("found an array of 0 INT32"), std::string::npos) << key;
  }
}

TEST(ModelConfig, AFactorOfScoresMustBeTheOneThatIsComputed) {
  const auto scale = [](float value) { return [=](GgufBuilder& builder) { builder.Number("llama.attention.scale", value); }; };
  EXPECT_FLOAT_EQ(Must(Read({}, scale(0.25f))).attention_scale, 0.25f);  // 1 / sqrt(16)
  EXPECT_FLOAT_EQ(Must(Read({}, scale(0))).attention_scale, 0.25f);
  for (const float wrong : {0.125f, -0.25f, NAN}) {
    EXPECT_NE(Refusal(scale(wrong)).find(", expected 0.25, which llama computes"), std::string::npos);
  }
}

TEST(ModelConfig, SizesThatAreRepeatedMustAgree) {
  const std::pair<const char*, uint32_t> right[] = {
      {"embedding_length_out", 64}, {"attention.key_length_swa", 16}, {"attention.value_length_swa", 16}, {"rope.dimension_count_swa", 16}};
  for (const auto& [key, size] : right) {
    const auto put = [key = std::string(key)](uint32_t value) { return [=](GgufBuilder& b) { b.Number("llama." + key, value); }; };
    Must(Read({}, put(size)));
    EXPECT_NE(Refusal(put(size / 2)).find(absl::StrCat("found ", size / 2, ", expected ", size, ", as in llama.")), std::string::npos);
  }
}

TEST(ModelConfig, RotationThatDoesNotFitIsNamed) {
  const auto number = [](const std::string& key, auto value) { return [=](GgufBuilder& b) { b.Number("llama.rope." + key, value); }; };
  EXPECT_EQ(Refusal(number("dimension_count", uint32_t{18})),
            "tiny: metadata \"llama.rope.dimension_count\" value at byte 4516: found 18, expected at most the head size 16");
  EXPECT_EQ(Refusal(number("freq_base", -1.0f)),
            "tiny: metadata \"llama.rope.freq_base\" value at byte 4510: found -1, expected a finite number above 0");
  EXPECT_EQ(Refusal([](GgufBuilder& b) { b.Tensor("rope_freqs.weight", {5}, 0, std::string(20, '\0')); }),
            "tiny: tensor rope_freqs.weight: shape at byte 5721: found [5], expected [8]");
}

std::function<void(GgufBuilder&)> Scaling(const std::string& type, float factor) {
  return [=](GgufBuilder& builder) {
    builder.String("llama.rope.scaling.type", type).Number("llama.rope.scaling.factor", factor);
  };
}

TEST(ModelConfig, AScalingFactorThatCannotBeIsNamed) {
  const std::pair<float, std::string> wrong[] = {{NAN, "nan"}, {-2, "-2"}, {1e30f, "1e+30"}, {INFINITY, "inf"}};
  for (const auto& [type, offset] : {std::pair("linear", "4564"), std::pair("yarn", "4562")}) {
    for (const auto& [factor, found] : wrong) {
      EXPECT_EQ(Refusal(Scaling(type, factor)),
                absl::StrCat("tiny: metadata \"llama.rope.scaling.factor\" value at byte ", offset, ": found ", found,
                             ", expected above 0, at most 16777216")) << type;
    }
  }
}

TEST(ModelConfig, AFactorUnderItsOlderNameIsNamedByThatName) {
  EXPECT_EQ(Refusal([](GgufBuilder& builder) { builder.Number("llama.rope.scale_linear", -2.0f); }),
            "tiny: metadata \"llama.rope.scale_linear\" value at byte 4513: found -2, expected above 0, at most 16777216");
}

TEST(ModelConfig, AFactorUnderBothNamesIsOneNumber) {
  const auto both = [](float factor, float older) {
    return [=](GgufBuilder& builder) {
      builder.Number("llama.rope.scaling.factor", factor);
      builder.Number("llama.rope.scale_linear", older);
    };
  };
  EXPECT_EQ(Must(Read({}, both(4, 4))).ropes[0].factor, 4);
  const std::string refusal = Refusal(both(4, 8));
  EXPECT_NE(refusal.find("metadata \"llama.rope.scale_linear\""), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("found 8, expected 4, as in llama.rope.scaling.factor"), std::string::npos) << refusal;
}

TEST(ModelConfig, AFactorOfZeroOrATypeOfNoneScalesNothing) {
  for (const auto& change : {Scaling("linear", 0), Scaling("yarn", 0), Scaling("none", 8), Scaling("none", NAN)}) {
    const ModelConfig config = Must(Read({}, change));
    EXPECT_EQ(config.ropes[0].scaling, RopeConfig::Scaling::kNone);
    EXPECT_EQ(config.ropes[0].factor, 1);
  }
}

TEST(ModelConfig, AFactorWithoutATypeIsLinear) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const ModelConfig config = Must(Read({}, [key](GgufBuilder& builder) { builder.Number(key, 4.0f); }));
    EXPECT_EQ(config.ropes[0].scaling, RopeConfig::Scaling::kLinear) << key;
    EXPECT_EQ(config.ropes[0].factor, 4) << key;
  }
}

TEST(ModelConfig, AScalingThatIsNotKnownIsNamed) {
  for (const std::string type : {"longrope", "llama3", "dynamic", "", "YARN"}) {
    EXPECT_EQ(Refusal(Scaling(type, 4)),
              "tiny: metadata \"llama.rope.scaling.type\" value at byte 4513: found \"" + type + "\", "
              "expected none, linear or yarn");
  }
  const std::string number = Refusal([](GgufBuilder& builder) { builder.Number("llama.rope.scaling.type", 2.0f); });
  EXPECT_NE(number.find("found FLOAT32 2, expected STRING"), std::string::npos) << number;
}

TEST(ModelConfig, YarnNumbersThatCannotBeAreNamed) {
  const auto yarn = [](const std::string& key, auto value) {
    return [=](GgufBuilder& builder) {
      Scaling("yarn", 4)(builder);
      builder.Number("llama.rope.scaling." + key, value);
    };
  };
  EXPECT_EQ(Refusal(yarn("original_context_length", uint32_t{0})),
            "tiny: metadata \"llama.rope.scaling.original_context_length\" value at byte 4620: found 0, expected 1 to 16777216");
  EXPECT_EQ(Refusal(yarn("yarn_beta_slow", NAN)),
            "tiny: metadata \"llama.rope.scaling.yarn_beta_slow\" value at byte 4611: found nan, "
            "expected a finite number above 0");
  EXPECT_EQ(Refusal(yarn("yarn_beta_fast", 0.5f)),
            "tiny: metadata \"llama.rope.scaling.yarn_beta_fast\" value at byte 4611: found 0.5, "
            "expected a finite number of at least yarn_beta_slow = 1");
  EXPECT_EQ(Refusal(yarn("attn_factor", -1.0f)),
            "tiny: metadata \"llama.rope.scaling.attn_factor\" value at byte 4608: found -1, expected a finite number above 0");
}

// The factors of llama3: a tensor instead of a key.
TEST(ModelConfig, AFrequencyFactorThatCannotBeIsNamed) {
  const std::pair<float, std::string> wrong[] = {{NAN, "nan"}, {-2, "-2"}, {0, "0"}, {INFINITY, "inf"}};
  for (const auto& [factor, found] : wrong) {
    std::vector<float> factors(8, 1);
    factors[3] = factor;
    const std::string bytes(reinterpret_cast<const char*>(factors.data()), factors.size() * sizeof(float));
    EXPECT_EQ(Refusal([&](GgufBuilder& builder) { builder.Tensor("rope_freqs.weight", {8}, 0, bytes); }),
              "tiny: tensor rope_freqs.weight: value 3 at byte 108428: found " + found + ", expected a finite number above 0");
  }
}

TEST(ModelConfig, AMissingTableIsNamed) {
  EXPECT_EQ(Refusal([](GgufBuilder&) {}, {.without = {"token_embd.weight"}}),
            "tiny: tensor token_embd.weight: missing, expected [64, vocabulary <= 16777216]");
}

TEST(ModelConfig, MissingKeysAreNamed) {
  const std::string empty = GgufBuilder().String("general.architecture", "llama").Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(empty.data()), empty.size()}, "tiny"));
  const absl::Status missing = ReadModelConfig(*file).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("llama.embedding_length"), absl::string_view::npos) << missing;
}

TEST(ModelConfig, AnUnknownArchitectureListsTheKnown) {
  const std::string other = GgufBuilder().String("general.architecture", "mamba").Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(other.data()), other.size()}, "tiny"));
  const absl::Status status = ReadModelConfig(*file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "tiny: metadata \"general.architecture\" value at byte 56: found \"mamba\" (Mamba), "
            "expected one of llama, qwen2, qwen3, gemma3; not supported here: recurrent layers");
}

}  // namespace
}  // namespace tessera
