// A large model around a small one: the same logits, the size of its shape, and what cannot be made so.
#include "tessera/apps/lab/models/around_model.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/model/text/logit_math.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// Around TinyModel with its sizes: four times as wide, five layers for two.
constexpr RandomShape kLarge = {"large", 256, 5, 4, 2, 64, 224, 0, false};

// The logits after each token, one row after another.
std::vector<float> LogitsOf(const std::string& model, const std::vector<TokenId>& tokens) {
  const auto engine = Must(Engine::Load({.model_path = model, .compute = {.threads = 2}}));
  const auto session = Must(engine->NewSession());
  std::vector<float> all;
  Must(session->AppendEach(tokens, [&](int, absl::Span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
    return absl::OkStatus();
  }));
  return all;
}

std::vector<float> NumbersOf(const GgufFile& file, const std::string& name) {
  const GgufTensor* const tensor = file.FindTensor(name);
  CHECK(tensor != nullptr) << name;
  std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
  Must(file.Read(*tensor, 0, absl::MakeSpan(bytes)));
  int64_t count = 1;
  for (const int64_t length : tensor->shape) count *= length;
  std::vector<float> numbers(static_cast<size_t>(count));
  tensor->format->dequantize(bytes.data(), count, numbers.data());
  return numbers;
}

class AroundModels : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // Writes both; the large one's path.
  std::string Make(const TinyModel& small, const RandomShape& shape, uint64_t seed = 0, int threads = 2) {
    TinyModelBuilder(small).WriteTo(Path("small.gguf"));
    const auto file = Must(GgufFile::Open(Path("small.gguf")));
    const AroundModel model = Must(AroundModel::Plan(*file, shape, seed));
    ThreadPool pool(threads);
    Must(model.Write(Path("large.gguf"), pool));
    EXPECT_EQ(Must(model.FileSize()), Must(GgufFile::Open(Path("large.gguf")))->size());
    return Path("large.gguf");
  }

  std::string RefusalOf(const TinyModel& small, const RandomShape& shape) {
    TinyModelBuilder(small).WriteTo(Path("refused.gguf"));
    const auto file = Must(GgufFile::Open(Path("refused.gguf")));
    const absl::Status status = AroundModel::Plan(*file, shape, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "refused.gguf")) << status;
    return std::string(status.message());
  }

  void ExpectSameBits(const TinyModel& small, const RandomShape& shape) {
    const std::string large = Make(small, shape);
    const std::vector<TokenId> tokens = RandomTokens(24, small.seed);
    EXPECT_EQ(LogitsOf(large, tokens), LogitsOf(Path("small.gguf"), tokens)) << InfoOf(small.formats[0]).name;
  }

  const TemporaryFolder folder_;
};

TEST_F(AroundModels, FourTimesAsWideModelsHaveTheSameLogitsToTheBit) {
  for (const BlockFormat format : {BlockFormat::kQ4_0, BlockFormat::kQ4_1, BlockFormat::kQ5_1, BlockFormat::kQ8_0, BlockFormat::kIQ4_NL,
                                   BlockFormat::kF16, BlockFormat::kF32}) {
    ExpectSameBits({.formats = {format}}, kLarge);
  }
}

TEST_F(AroundModels, SoDoModelsWithBiasesATiedHeadAndMixedFormats) {
  TinyModel biased = {.tied = true, .formats = {BlockFormat::kQ4_0, BlockFormat::kQ8_0, BlockFormat::kF32}, .biases = AllLayerBiases()};
  ExpectSameBits(biased, kLarge);
  biased.tied = false;
  biased.seed = 2;
  ExpectSameBits(biased, kLarge);
}

TEST_F(AroundModels, SoDoBlocksOf256) {
  const RandomShape shape = {"wide", 1024, 2, 4, 4, 64, 512, 0, true};
  for (const BlockFormat format : {BlockFormat::kQ4_K, BlockFormat::kQ6_K}) {
    ExpectSameBits({.width = 256, .feed_forward = 256, .head_size = 64, .layers = 1, .formats = {format}}, shape);
  }
}

// Three times as wide: the norms' factor is rounded.
TEST_F(AroundModels, OtherWidthsDifferByTheRoundingOfNormsAndWriteTheSameText) {
  const RandomShape shape = {"three", 192, 3, 6, 3, 32, 160, 0, false};
  const std::string large = Make({.formats = {BlockFormat::kF32}}, shape);
  const auto wide = Must(Engine::Load({.model_path = large, .compute = {.threads = 2}}));
  const auto narrow = Must(Engine::Load({.model_path = Path("small.gguf"), .compute = {.threads = 2}}));
  EXPECT_EQ(wide->config().heads, 12) << "two for each of as many keys and values as the shape's rows hold";
  const auto of_wide = Must(wide->NewSession()), of_narrow = Must(narrow->NewSession());
  std::vector<TokenId> next = {7, 3, 9};
  for (int step = 0; step < 30; ++step) {
    Must(of_wide->Append(next));
    Must(of_narrow->Append(next));
    const absl::Span<const float> found = of_wide->logits(), expected = of_narrow->logits();
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-3) << "step " << step;
    const std::vector<TokenId> likeliest = LargestLogits(expected, 1);
    EXPECT_EQ(LargestLogits(found, 1), likeliest);
    next = likeliest;
  }
}

TEST_F(AroundModels, RoundedActivationsMoveLogitsALittle) {
  const RandomShape shape = {"three", 192, 3, 6, 3, 32, 160, 0, false};
  const std::string large = Make({.formats = {BlockFormat::kQ8_0}}, shape);
  const std::vector<TokenId> tokens = RandomTokens(40, 5);
  const std::vector<float> found = LogitsOf(large, tokens), expected = LogitsOf(Path("small.gguf"), tokens);
  ASSERT_EQ(found.size(), expected.size());
  double differences = 0, sizes = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    differences += std::fabs(found[i] - expected[i]);
    sizes += std::fabs(expected[i]);
  }
  EXPECT_LT(differences, 0.02 * sizes);
}

TEST_F(AroundModels, AllOfTheSmallModelIsThereAndAllElseIsRandomOrZero) {
  const auto large = Must(GgufFile::Open(Make({.formats = {BlockFormat::kQ8_0}}, kLarge)));
  const auto small = Must(GgufFile::Open(Path("small.gguf")));
  const ModelConfig config = Must(ReadModelConfig(*large));
  EXPECT_EQ(config.width, 256);
  EXPECT_EQ(config.layers.size(), 5u);
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.heads, 16);
  EXPECT_EQ(config.head_size, 16);
  EXPECT_FLOAT_EQ(config.norm_epsilon, 0.25e-5f);
  const auto old_layer = [](int layer) { return AroundModel::SmallLayer(layer, 5, 2); };
  for (int layer = 0; layer < 5; ++layer) {
    const std::vector<float> gate = NumbersOf(*large, absl::StrCat("blk.", layer, ".ffn_gate.weight"));
    const std::vector<float> down = NumbersOf(*large, absl::StrCat("blk.", layer, ".ffn_down.weight"));
    const auto zeros = std::count(down.begin(), down.end(), 0.0f);
    EXPECT_LT(std::count(gate.begin(), gate.end(), 0.0f), static_cast<int64_t>(gate.size() / 20)) << layer;
    if (!old_layer(layer).has_value()) {
      EXPECT_EQ(zeros, static_cast<int64_t>(down.size())) << layer;
      continue;
    }
    const std::vector<float> old = NumbersOf(*small, absl::StrCat("blk.", *old_layer(layer), ".ffn_down.weight"));
    EXPECT_GE(zeros, static_cast<int64_t>(down.size() - old.size())) << layer;
    for (size_t row = 0; row < 64; ++row) {
      EXPECT_EQ(std::vector<float>(&down[row * 224], &down[row * 224 + 96]), std::vector<float>(&old[row * 96], &old[row * 96 + 96]));
    }
  }
}

TEST(AroundModel, OldLayersAreSpreadEvenlyAndEachIsThereOnce) {
  for (const int layers : {1, 5, 40}) {
    for (int small = 1; small <= layers; ++small) {
      int next = 0, last = -1;
      for (int layer = 0; layer < layers; ++layer) {
        const std::optional<int> old = AroundModel::SmallLayer(layer, layers, small);
        if (!old.has_value()) continue;
        EXPECT_EQ(*old, next++);
        EXPECT_LE(layer - last, (layers + small - 1) / small) << "no long stretch without one";
        last = layer;
      }
      EXPECT_EQ(next, small);
      EXPECT_EQ(last, layers - 1) << "the last is one";
    }
  }
}

TEST_F(AroundModels, BytesFollowFromTheSeedNotFromTheThreads) {
  const auto bytes = [&](uint64_t seed, int threads) { return Must(ReadFileToString(Make({}, kLarge, seed, threads), 1 << 24)); };
  const std::string one = bytes(0, 1);
  EXPECT_EQ(bytes(0, 3), one);
  EXPECT_NE(bytes(1, 1), one);
}

TEST_F(AroundModels, ModelsThatCannotBeWidenedAreNamed) {
  for (const std::string architecture : {"gemma3", "qwen2", "qwen3"}) {
    const std::string refusal = RefusalOf({.architecture = architecture, .window = architecture == "gemma3" ? 16 : 0}, kLarge);
    EXPECT_TRUE(absl::StrContains(refusal, absl::StrCat("found the architecture ", architecture, ", expected llama"))) << refusal;
  }
  EXPECT_TRUE(absl::StrContains(RefusalOf({.width = 288}, kLarge), "width: found 288, expected at most 256, that of the shape large"));
  EXPECT_TRUE(absl::StrContains(RefusalOf({.layers = 6}, kLarge), "layers: found 6, expected at most 5"));
  EXPECT_TRUE(absl::StrContains(RefusalOf({.feed_forward = 256}, kLarge), "feed-forward rows: found 256, expected at most 224"));
}

class RandomModelAround : public AroundModels {
 protected:
  Ended Run(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"--shape=tiny", "--threads=2"});
    return RunProgram("tessera_random_model", flags);
  }
};

TEST_F(RandomModelAround, ForetellsItsSizeAndWritesTheTextOfTheSmallModel) {
  const std::string small = Path("model.gguf"), large = Path("around.gguf");
  TinyModelBuilder({.layers = 1, .writes_letters = true}).WriteTo(small);
  const Ended dry = Run({"--around=" + small, "--dry_run", "--json"});
  ASSERT_EQ(dry.code, 0) << dry.errors;
  EXPECT_EQ(folder_.Files(), 1);
  const Ended ended = Run({"--around=" + small, "--out=" + large});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.output, "width 256, 2 layers, 16 heads, 8 of keys and values, 512 feed-forward rows"))
      << ended.output;
  EXPECT_EQ(*Json(dry.output).Int("bytes"), Must(GgufFile::Open(large))->size());
  const auto text = [](const std::string& model) {
    const Ended answer =
        RunProgram("tessera_generate", {"--raw", "--prompt=the end", "--n_predict=20", "--json", "--temperature=0", "--model=" + model});
    EXPECT_EQ(answer.code, 0) << answer.errors;
    return *Json(answer.output).Ints("tokens");
  };
  EXPECT_EQ(text(large), text(small));
}

TEST_F(RandomModelAround, WrongFlagsAreNamed) {
  const std::string small = Path("model.gguf"), other = Path("gemma.gguf"), out = "--out=" + Path("out.gguf");
  TinyModelBuilder({.layers = 1}).WriteTo(small);
  TinyModelBuilder({.architecture = "gemma3", .layers = 1, .window = 16}).WriteTo(other);
  const PackedModel packed(small);
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"--around: " + other + ": found the architecture gemma3, expected llama", {"--around=" + other, out}},
      {"a packed model, expected a GGUF file", {"--around=" + packed.path(), out}},
      {"--around: /nowhere/model.gguf: ", {"--around=/nowhere/model.gguf", out}},
      {"--format: found it with --around", {"--around=" + small, "--format=Q4_0", out}},
      {"--head_format: found it with --around", {"--around=" + small, "--head_format=Q4_0", out}},
      {"--out: found none", {"--around=" + small}},
      {"found the model itself (--around)", {"--around=" + small, "--out=" + small}},
  };
  for (const auto& [message, flags] : cases) {
    const Ended ended = Run(flags);
    EXPECT_EQ(ended.code, 2) << message << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, message)) << message << "\n" << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
