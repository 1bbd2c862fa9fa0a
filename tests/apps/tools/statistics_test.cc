// tessera_quantize statistics: what it writes against a plain pass, and what it refuses.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr char kText[] = "the in the end of a text, the and that it is in a text of the end, and in it the text is a text";
constexpr int kWindow = 24;

class StatisticsProgram : public ::testing::Test {
 protected:
  Ended Run(const std::string& model, std::vector<std::string> flags = {}) const {
    flags.insert(flags.end(), {"--model=" + model, "--out=" + out_, "--json", absl::StrCat("--window=", kWindow)});
    return RunProgram("tessera_quantize statistics", flags, kText);
  }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.Path("statistics.gguf");
};

// The text as the program cuts it.
std::vector<std::vector<TokenId>> WindowsOfModel(const std::string& model) {
  const auto engine = Must(Engine::Open({.model_path = model, .compute = {.threads = 1}}));
  const std::vector<TokenId> tokens = engine->tokenizer().Encode(kText);
  const bool bos = engine->tokenizer().adds_bos() && engine->tokenizer().bos().has_value();
  std::vector<std::vector<TokenId>> windows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (windows.empty() || windows.back().size() == kWindow) {
      windows.emplace_back();
      if (bos) windows.back().push_back(*engine->tokenizer().bos());
    }
    windows.back().push_back(tokens[i]);
  }
  return windows;
}

std::vector<float> VectorOf(const GgufFile& file, const std::string& name) {
  const GgufTensor* const tensor = file.FindTensor(name);
  CHECK(tensor != nullptr) << name;
  std::vector<float> values(static_cast<size_t>(tensor->shape[0]));
  std::vector<std::byte> bytes(static_cast<size_t>(tensor->size));
  Must(file.Read(*tensor, 0, absl::MakeSpan(bytes)));
  tensor->format->dequantize(bytes.data(), tensor->shape[0], values.data());
  return values;
}

// Adds the squares of the hidden states, normed, which is what the products after a norm read.
void AddNormed(TensorView<const float> hidden, const std::vector<float>& norm, float epsilon, std::vector<double>& sums) {
  sums.resize(norm.size());
  for (int64_t r = 0; r < hidden.rows(); ++r) {
    double squares = 0;
    for (int64_t i = 0; i < hidden.columns(); ++i) squares += double{hidden.row(r)[i]} * hidden.row(r)[i];
    const double root = std::sqrt(squares / static_cast<double>(hidden.columns()) + epsilon);
    for (size_t i = 0; i < norm.size(); ++i) sums[i] += std::pow(hidden.row(r)[i] / root * norm[i], 2);
  }
}

// By tensor, for queries of each layer and for the head: from the hidden states of passes that are walked layer by layer.
std::map<std::string, std::vector<double>> PlainSums(const std::string& path) {
  const LoadedWeights model(path, WeightEncoding::kFloat32);
  const ModelConfig& config = model.config();
  std::map<std::string, std::vector<double>> sums;
  for (const std::vector<TokenId>& window : WindowsOfModel(path)) {
    Machine machine(model, {});
    PassText text(machine, window);
    Pass pass = text.Begin();
    for (int layer = 0; layer <= static_cast<int>(config.layers.size()); ++layer) {
      Must(pass.RunTo(layer));
      const bool last = layer == static_cast<int>(config.layers.size());
      const std::string block = absl::StrCat("blk.", layer, ".");
      AddNormed(Must(pass.Hidden()), VectorOf(model.file(), last ? "output_norm.weight" : block + "attn_norm.weight"), config.norm_epsilon,
                sums[last ? HeadNeed(config).name : block + "attn_q.weight"]);
    }
  }
  return sums;
}

int64_t TokensOfModel(const std::string& model) {
  int64_t tokens = 0;
  for (const std::vector<TokenId>& window : WindowsOfModel(model)) tokens += static_cast<int64_t>(window.size());
  return tokens;
}

TEST_F(StatisticsProgram, WritesTheMeanSquaresOfAPlainPass) {
  for (const char* name : kTinyModels) {
    const std::string model = TinyPath(name);
    const Ended ended = Run(model);
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const Importance found = Must(Importance::Read(out_));
    const int64_t tokens = TokensOfModel(model);
    for (const auto& [tensor, sums] : PlainSums(model)) {
      const absl::Span<const float> squares = found.Of(tensor);
      ASSERT_EQ(squares.size(), sums.size()) << name << " " << tensor;
      for (size_t i = 0; i < sums.size(); ++i) {
        const double expected = sums[i] / static_cast<double>(tokens);
        ASSERT_NEAR(squares[i], expected, 1e-3 * expected + 1e-6) << name << " " << tensor << " input " << i;
      }
    }
  }
}

TEST_F(StatisticsProgram, EveryMatrixOfEveryLayerReadsEachTokenOnce) {
  for (const char* name : kTinyModels) {
    const std::string model = TinyPath(name);
    const Ended ended = Run(model);
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const Importance found = Must(Importance::Read(out_));
    const auto file = Must(GgufFile::Open(model));
    const ModelConfig config = Must(ReadModelConfig(*file));
    EXPECT_EQ(found.CheckFits(*file, config), absl::OkStatus());
    const int64_t tokens = TokensOfModel(model);
    for (const auto& [tensor, entry] : found.entries()) EXPECT_EQ(entry.rows, tokens) << name << " " << tensor;
    EXPECT_FALSE(found.Of(HeadNeed(config).name).empty()) << name;
    EXPECT_EQ(*Json(ended.output).Int("tokens"), tokens);
  }
}

TEST_F(StatisticsProgram, InputsSharedByProductsAreTheSameAndLayersDiffer) {
  ASSERT_EQ(Run(TinyPath("llama")).code, 0);
  const Importance found = Must(Importance::Read(out_));
  const auto of = [&](const char* tensor) { return std::vector<float>(found.Of(tensor).begin(), found.Of(tensor).end()); };
  EXPECT_EQ(of("blk.0.attn_q.weight"), of("blk.0.attn_v.weight"));
  EXPECT_EQ(of("blk.1.ffn_gate.weight"), of("blk.1.ffn_up.weight"));
  EXPECT_NE(of("blk.0.attn_q.weight"), of("blk.1.attn_q.weight"));
  EXPECT_NE(of("blk.0.ffn_up.weight"), of("blk.0.attn_q.weight"));
}

// In FP32 each of these matrices is larger than a unit, so it comes in parts that read the same rows.
TEST_F(StatisticsProgram, AMatrixInPartsIsCountedOnce) {
  const std::string model = folder_.Path("wide.gguf");
  TinyModelBuilder({.feed_forward = 70'016, .layers = 1}).WriteTo(model);
  const Ended ended = Run(model);
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const Importance found = Must(Importance::Read(out_));
  EXPECT_EQ(found.Of("blk.0.ffn_down.weight").size(), 70'016u);
  const int64_t tokens = TokensOfModel(model);
  for (const auto& [tensor, entry] : found.entries()) EXPECT_EQ(entry.rows, tokens) << tensor;
}

TEST_F(StatisticsProgram, StatisticsOfOneModelAreRefusedForAnother) {
  ASSERT_EQ(Run(TinyPath("llama")).code, 0);
  const Importance found = Must(Importance::Read(out_));
  for (const char* name : {"qwen3", "gemma3", "qwen2"}) {
    const auto file = Must(GgufFile::Open(TinyPath(name)));
    const absl::Status status = found.CheckFits(*file, Must(ReadModelConfig(*file)));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_TRUE(absl::StrContains(status.message(), "statistics of another model")) << status;
  }
}

TEST_F(StatisticsProgram, ReportsTheReadText) {
  const std::string model = TinyPath("llama"), prompt = folder_.Path("text");
  std::ofstream(prompt) << kText;
  const Ended ended = Run(model, {"--prompt_file=" + prompt});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue json = Json(ended.output);
  const int64_t windows = static_cast<int64_t>(WindowsOfModel(model).size());
  EXPECT_GT(windows, 1) << "or this test shows little";
  EXPECT_EQ(*json.String("path"), out_);
  EXPECT_EQ(*json.Int("windows"), windows);
  EXPECT_EQ(*json.Int("window"), kWindow);
  EXPECT_EQ(*json.Int("tensors"), 2 * 7 + 1) << "of two layers, and the head";
  EXPECT_EQ(json.Array("kinds")->size(), 8);
  const Importance found = Must(Importance::Read(out_));
  EXPECT_EQ(found.text().datasets, std::vector<std::string>{prompt});
  EXPECT_EQ(found.text().chunks, static_cast<uint32_t>(windows));
  EXPECT_EQ(found.text().chunk_size, static_cast<uint32_t>(kWindow));
  const Ended table = RunProgram("tessera_quantize statistics", {model, out_}, kText);
  EXPECT_EQ(table.code, 0) << table.errors;
  for (const char* word : {"tokens in 1 windows", "ffn_down.weight", "output.weight"}) {
    EXPECT_TRUE(absl::StrContains(table.output, word)) << word << table.output;
  }
}

TEST_F(StatisticsProgram, WrongFlagsAndTextsAreNamedAndNothingIsWritten) {
  const std::string model = "--model=" + TinyPath("llama"), out = "--out=" + out_;
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"--out: found none, expected a file to write", {model}},
      {"--out: ", {model, "--out=/nowhere/statistics"}},
      {"--window: found 1, expected 2 to 1048576", {model, out, "--window=1"}},
      {"--prompt_file: found beside --prompt", {model, out, "--prompt=a", "--prompt_file=b"}},
      {"unknown flag --max_windows", {model, out, "--max_windows=1"}},
  };
  for (const auto& [message, arguments] : cases) {
    const Ended ended = RunProgram("tessera_quantize statistics", arguments, kText);
    EXPECT_EQ(ended.code, 2) << message << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, message)) << ended.errors;
  }
  const Ended empty = RunProgram("tessera_quantize statistics", {model, out}, "");
  EXPECT_EQ(empty.code, 1);
  EXPECT_TRUE(absl::StrContains(empty.errors, "text: found 0 tokens, expected at least 1")) << empty.errors;
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(StatisticsProgram, TheModelIsNotOverwrittenAndAPackedOneIsRefused) {
  const std::string model = folder_.Path("model.gguf"), packed = folder_.Path("model.tsr");
  std::filesystem::copy_file(TinyPath("llama"), model);
  const std::string before = Must(ReadFileToString(model, int64_t{1} << 24));
  const Ended itself = RunProgram("tessera_quantize statistics", {model, model}, kText);
  EXPECT_EQ(itself.code, 2);
  EXPECT_TRUE(absl::StrContains(itself.errors, "found the model itself")) << itself.errors;
  EXPECT_EQ(Must(ReadFileToString(model, int64_t{1} << 24)), before);
  ASSERT_EQ(RunProgram("tessera_pack", {model, packed}).code, 0);
  const Ended ended = RunProgram("tessera_quantize statistics", {packed, out_}, kText);
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(absl::StrContains(ended.errors, "found a packed model, expected a GGUF file")) << ended.errors;
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(StatisticsProgram, ADryRunCountsTokensAndWritesNothing) {
  const Ended ended = Run(TinyPath("llama"), {"--dry_run", absl::StrCat("--prompt=", kText)});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(*Json(ended.output).Int("prompt_tokens"), TokensOfModel(TinyPath("llama")));
  EXPECT_EQ(*Json(ended.output).String("path"), "reference");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace tessera
