// Which layers have a sliding window, by what the file says (model/files/architectures/windows.cc).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
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

std::string Refusal(const TinyModel& model, const std::function<void(GgufBuilder&)>& change) {
  const absl::Status status = Read(model, change).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

const TinyModel kGemma = {.architecture = "gemma3", .layers = 4, .window = 6};
const TinyModel kLlama = {.layers = 4};
constexpr char kGemmaPattern[] = "gemma3.attention.sliding_window_pattern";

TEST(Windows, APatternMayBeANumber) {
  const auto every = [](uint32_t period) { return [=](GgufBuilder& b) { b.Number(kGemmaPattern, period); }; };
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, every(2)))), (std::vector<int>{6, 0, 6, 0}));
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, every(3)))), (std::vector<int>{6, 6, 0, 6}));
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, every(1)))), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, every(0)))), (std::vector<int>{6, 6, 6, 6}));
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, every(~0u)))), (std::vector<int>{6, 6, 6, 6}));
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, [](GgufBuilder&) {}))), (std::vector<int>{6, 6, 6, 6}));  // Six, where the file does not say.
}

TEST(Windows, APatternMayBeAListOfBooleansOrOfZerosAndOnes) {
  const auto flags = [](GgufBuilder& b) { b.Array(kGemmaPattern, GgufType::kBool, 4, std::string("\1\0\0\1", 4)); };
  const ModelConfig config = Must(Read(kGemma, flags));
  EXPECT_EQ(WindowsOf(config), (std::vector<int>{6, 0, 0, 6}));
  EXPECT_EQ(config.layers[0].rope, 1);  // Layers with a window turn by their own base.
  EXPECT_EQ(config.layers[1].rope, 0);
  const auto list = [](std::vector<int32_t> numbers) { return [=](GgufBuilder& b) { b.Numbers(kGemmaPattern, numbers); }; };
  EXPECT_EQ(WindowsOf(Must(Read(kGemma, list({0, 1, 1, 0})))), (std::vector<int>{0, 6, 6, 0}));
  EXPECT_NE(Refusal(kGemma, list({0, 1, 2, 0})).find("value[2] at byte "), std::string::npos);
  EXPECT_NE(Refusal(kGemma, list({0, 1, 1})).find("found an array of 3 INT32, expected a number, or one entry for each of 4 layers"),
            std::string::npos);
}

TEST(Windows, APatternWithoutAWidthIsRefused) {
  const TinyModel model = {.architecture = "gemma3", .layers = 4};
  EXPECT_NE(Refusal(model, [](GgufBuilder& b) { b.Number(kGemmaPattern, 2u); })
                .find("found UINT32 2, expected no layer with a window, since gemma3.attention.sliding_window gives no width"),
            std::string::npos);
  EXPECT_EQ(WindowsOf(Must(Read(model, [](GgufBuilder& b) { b.Number(kGemmaPattern, 1u); }))), (std::vector<int>(4)));
}

TEST(Windows, OtherArchitecturesMustNameTheLayersWithAWindow) {
  const auto window = [](uint32_t width) { return [=](GgufBuilder& b) { b.Number("llama.attention.sliding_window", width); }; };
  EXPECT_NE(Refusal(kLlama, window(127)).find("found 127, expected 0, or at least the context length 128, or a key "
                                              "llama.attention.sliding_window_pattern that says which layers have the window"),
            std::string::npos);
  EXPECT_EQ(WindowsOf(Must(Read(kLlama, window(0)))), std::vector<int>(4));
  EXPECT_EQ(WindowsOf(Must(Read(kLlama, window(128)))), std::vector<int>(4));
  // A window as wide as the trained context hides nothing within it, but beyond it would: so far such a file goes.
  EXPECT_EQ(Must(Read(kLlama, window(128))).longest_context, 128);
  EXPECT_EQ(Must(Read(kLlama, window(~0u))).longest_context, 1 << 24);
  EXPECT_EQ(Must(Read(kLlama, window(0))).longest_context, 0);
  EXPECT_EQ(Must(Read(kGemma, [](GgufBuilder&) {})).longest_context, 0);
  const ModelConfig config = Must(Read(kLlama, [&](GgufBuilder& b) {
    window(16)(b);
    b.Array("llama.attention.sliding_window_pattern", GgufType::kBool, 4, std::string("\1\0\1\0", 4));
  }));
  EXPECT_EQ(WindowsOf(config), (std::vector<int>{16, 0, 16, 0}));
  EXPECT_EQ(config.ropes.size(), 1u);
}

// Ollama's converter has names of its own for the two bases.
TEST(Windows, BasesOfGemma3AreReadUnderBothNames) {
  const auto bases = [](std::vector<std::pair<std::string, float>> values) {
    return [=](GgufBuilder& b) {
      for (const auto& [key, base] : values) b.Number("gemma3.rope." + key, base);
    };
  };
  const ModelConfig config = Must(Read(kGemma, bases({{"global.freq_base", 1e6f}, {"local.freq_base", 2e4f}})));
  EXPECT_EQ(config.ropes[0].base, 1e6);
  EXPECT_EQ(config.ropes[1].base, 2e4);
  EXPECT_EQ(Must(Read(kGemma, bases({{"freq_base", 1e6f}, {"global.freq_base", 1e6f}}))).ropes[0].base, 1e6);
  EXPECT_NE(Refusal(kGemma, bases({{"freq_base", 1e6f}, {"global.freq_base", 1e5f}})).find("expected 1e+06, as in gemma3.rope.freq_base"),
            std::string::npos);
  for (const std::string key : {"global.freq_base", "local.freq_base"}) {
    EXPECT_NE(Refusal(kGemma, bases({{key, -1.0f}})).find("\"gemma3.rope." + key + "\" value at byte"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
