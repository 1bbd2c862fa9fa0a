#include "tessera/model/files/known_shapes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/model/files/weights.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

ModelConfig ConfigOf(const std::string& name) { return Must(ReadModelConfig(*Must(OpenKnownShape(name)))); }

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const KnownShape& shape : KnownShapes()) names.push_back(shape.name);
  return names;
}

int64_t ValuesOf(const GgufTensor& tensor) {
  int64_t values = 1;
  for (const int64_t length : tensor.shape) values *= length;
  return values;
}

// Without the factors of rotation, which model pages do not count.
int64_t ParametersOf(const GgufFile& shape) {
  int64_t sum = 0;
  for (const GgufTensor& tensor : shape.tensors()) sum += tensor.name == kRopeFactors ? 0 : ValuesOf(tensor);
  return sum;
}

absl::Status WriteZeros(const GgufWriter& writer, const std::string& path) {
  return writer.Write(path, [&](int tensor, GgufWriter::Append append) {
    return append(std::vector<std::byte>(static_cast<size_t>(writer.TensorBytes(tensor))));
  });
}

absl::Status Example(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> shape, OpenKnownShape("phi-3.5-mini"));
  ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(*shape));
  ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*shape, config, WeightEncoding::kTiles, WeightRecipe::Default()));
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> any, OpenShape(path));
  EXPECT_EQ(config.layers.size(), 32u);
  EXPECT_GT(layout.TotalBytes(), ParametersOf(*shape) / 2);  // Four bits of a weight, and some of eight.
  EXPECT_LT(layout.TotalBytes(), ParametersOf(*shape));
  EXPECT_EQ(any->path(), path);
  return absl::OkStatus();
}

TEST(KnownShapes, HeaderExample) {
  const TemporaryFolder folder;
  Must(WriteZeros(GgufWriter(), folder.Path("model.gguf")));
  EXPECT_EQ(Example(folder.Path("model.gguf")), absl::OkStatus());
}

// The counts of the models' pages. Those of Qwen 3 count a tied head once; that of Gemma 3 4B has a tower of 419,816,304 for images.
TEST(KnownShapes, ParametersMatchThePublishedCounts) {
  const std::map<std::string, int64_t> published = {
      {"qwen2-0.5b", 494'032'768},     {"qwen2-1.5b", 1'543'714'304},   {"qwen2-7b", 7'615'616'512},
      {"qwen2.5-0.5b", 494'032'768},   {"qwen2.5-1.5b", 1'543'714'304}, {"qwen2.5-3b", 3'085'938'688},
      {"qwen2.5-7b", 7'615'616'512},   {"qwen3-0.6b", 596'049'920},     {"qwen3-1.7b", 1'720'574'976},
      {"qwen3-4b", 4'022'468'096},     {"qwen3-8b", 8'190'735'360},     {"qwen3-14b", 14'768'307'200},
      {"llama-3.2-1b", 1'235'814'400}, {"llama-3.2-3b", 3'212'749'824}, {"llama-3.1-8b", 8'030'261'248},
      {"004-1b", 1'235'814'400},       {"004-3b", 3'212'749'824},       {"smollm2-135m", 134'515'008},
      {"phi-3.5-mini", 3'821'079'552}, {"gemma-3-270m", 268'098'176},   {"gemma-3-1b", 999'885'952},
      {"gemma-3-4b", 4'300'079'472 - 419'816'304}};
  std::set<std::string> known;
  for (const std::string& name : Names()) {
    EXPECT_TRUE(known.insert(name).second) << name;
    ASSERT_EQ(published.count(name), 1u) << name;
    EXPECT_EQ(ParametersOf(*Must(OpenKnownShape(name))), published.at(name)) << name;
  }
  EXPECT_EQ(known.size(), published.size());
}

// As tiles, too, except where a matrix has more inputs than the matrix unit has memory for: a file of that shape is refused as well.
TEST(KnownShapes, AllCanBePlanned) {
  for (const std::string& name : Names()) {
    const auto shape = Must(OpenKnownShape(name));
    const ModelConfig config = Must(ReadModelConfig(*shape));
    EXPECT_GT(Must(WeightLayout::Plan(*shape, config, WeightEncoding::kPacked)).TotalBytes(), ParametersOf(*shape) / 2) << name;
    const auto tiles = WeightLayout::Plan(*shape, config, WeightEncoding::kTiles, WeightRecipe::Default());
    if (config.feed_forward <= TileMatrix::kMostInputs) {
      EXPECT_TRUE(tiles.ok()) << tiles.status();
    } else {
      EXPECT_TRUE(absl::StrContains(tiles.status().message(), "ffn_down.weight")) << tiles.status();
    }
  }
}

TEST(KnownShapes, NameTheirAssumptionsAndDifferences) {
  std::set<std::string> assumed, differing;
  for (const KnownShape& shape : KnownShapes()) {
    EXPECT_NE(std::string(shape.source), "") << shape.name;
    if (shape.assumed[0] != '\0') assumed.insert(shape.name);
    if (shape.differs[0] != '\0') differing.insert(shape.name);
  }
  EXPECT_EQ(assumed, (std::set<std::string>{"004-1b", "004-3b"}));
  EXPECT_EQ(differing, (std::set<std::string>{"gemma-3-4b", "phi-3.5-mini"}));
}

TEST(KnownShapes, SizesAndPartsOfOneOfEachFamily) {
  const ModelConfig qwen2 = ConfigOf("qwen2.5-7b"), qwen3 = ConfigOf("qwen3-4b"), llama = ConfigOf("llama-3.2-3b");
  EXPECT_EQ(qwen2.architecture, "qwen2");
  EXPECT_EQ(qwen2.layers.back().biases, (LayerBiases{.query = true, .key = true, .value = true}));
  EXPECT_EQ(qwen2.ropes[0].base, 1e6);
  EXPECT_EQ(qwen2.kv_heads, 4);
  EXPECT_FALSE(qwen2.tied_head);
  EXPECT_TRUE(qwen3.query_key_norm);
  EXPECT_NE(qwen3.heads * qwen3.head_size, qwen3.width);
  EXPECT_EQ(qwen3.context_length, 40960);
  EXPECT_EQ(qwen3.layers.back().biases, LayerBiases());
  EXPECT_EQ(llama.ropes[0].base, 5e5);
  EXPECT_EQ(llama.norm_epsilon, 1e-5f);
  EXPECT_TRUE(llama.tied_head);
  EXPECT_EQ(ConfigOf("004-3b"), llama);
  EXPECT_EQ(ConfigOf("phi-3.5-mini").head_size, 96);
  EXPECT_EQ(ConfigOf("qwen2-1.5b"), ConfigOf("qwen2.5-1.5b"));
}

TEST(KnownShapes, Gemma3HasWindowsButInEverySixthLayer) {
  const ModelConfig small = ConfigOf("gemma-3-1b"), large = ConfigOf("gemma-3-4b");
  for (const ModelConfig* config : {&small, &large}) {
    EXPECT_TRUE(config->query_key_norm && config->post_norms && config->tied_head);
    ASSERT_EQ(config->ropes.size(), 2u);
    EXPECT_EQ(config->ropes[0].base, 1e6);
    EXPECT_EQ(config->ropes[1].base, 1e4);
    for (size_t i = 0; i < config->layers.size(); ++i) {
      EXPECT_EQ(config->layers[i].window, i % 6 == 5 ? 0 : config == &small ? 512 : 1024) << i;
      EXPECT_EQ(config->layers[i].rope, i % 6 == 5 ? 0 : 1) << i;
    }
  }
  EXPECT_EQ(small.layers.size(), 26u);
  EXPECT_EQ(small.ropes[0].scaling, RopeConfig::Scaling::kNone);
  EXPECT_EQ(large.ropes[0].scaling, RopeConfig::Scaling::kLinear);
  EXPECT_EQ(large.ropes[0].factor, 8);
}

// By the formula of config.json's "llama3" scaling, computed elsewhere.
TEST(KnownShapes, Llama3SlowsDownItsSlowPairs) {
  const std::vector<float> small = ConfigOf("llama-3.2-1b").ropes[0].frequency_factors;
  ASSERT_EQ(small.size(), 32u);
  EXPECT_EQ(small[14], 1);
  EXPECT_NEAR(small[15], 1.651329, 1e-5);
  EXPECT_NEAR(small[17], 9.666729, 1e-5);
  EXPECT_EQ(small[18], 32);
  EXPECT_EQ(small.back(), 32);
  const std::vector<float> large = ConfigOf("llama-3.1-8b").ropes[0].frequency_factors;
  ASSERT_EQ(large.size(), 64u);
  EXPECT_EQ(large[28], 1);
  EXPECT_NEAR(large[29], 1.207484, 1e-5);
  EXPECT_NEAR(large[34], 5.257327, 1e-5);
  EXPECT_EQ(large[35], 8);
}

std::map<std::string, std::vector<int64_t>> TensorsOf(const GgufFile& file) {
  std::map<std::string, std::vector<int64_t>> tensors;
  for (const GgufTensor& tensor : file.tensors()) tensors[std::string(tensor.name)] = tensor.shape;
  return tensors;
}

// Whatever graphs, caches and plans are made from is that of the files.
TEST(KnownShapes, OfTheModelsOfTheseTestsMatchTheirFiles) {
  const std::map<std::string, std::string> models = {{"smollm2", "smollm2-135m"}, {"gemma3", "gemma-3-270m"}};
  for (const auto& [model, name] : models) {
    const std::string path = RealModelPath(model);
    if (path.empty()) FAIL() << RealModelMissing(model);
    const auto file = Must(GgufFile::Open(path)), shape = Must(OpenKnownShape(name));
    EXPECT_TRUE(Must(ReadModelConfig(*shape)) == Must(ReadModelConfig(*file))) << name;
    EXPECT_EQ(TensorsOf(*shape), TensorsOf(*file)) << name;
  }
}

// The same, without the files.
TEST(KnownShapes, OfTheModelsOfTheseTestsHaveTheirNumbers) {
  ModelConfig expected = {.architecture = "llama", .width = 576, .feed_forward = 1536, .heads = 9, .kv_heads = 3, .head_size = 64,
                          .vocabulary = 49152, .context_length = 8192, .norm_epsilon = 1e-5f, .attention_scale = 0.125f};
  expected.tied_head = true;
  expected.ropes = {RopeConfig{.dimensions = 64, .base = 100'000}};
  expected.layers.resize(30);
  EXPECT_TRUE(ConfigOf("smollm2-135m") == expected);

  const ModelConfig gemma = ConfigOf("gemma-3-270m");
  const std::vector<int> sizes = {gemma.width, gemma.feed_forward, gemma.heads, gemma.kv_heads, gemma.head_size, gemma.vocabulary,
                                  gemma.context_length, static_cast<int>(gemma.layers.size()), gemma.layers[0].window};
  EXPECT_EQ(sizes, (std::vector<int>{640, 2048, 4, 1, 256, 262144, 32768, 18, 512}));
  EXPECT_EQ(gemma.norm_epsilon, 1e-6f);
  EXPECT_EQ(gemma.attention_scale, 0.0625f);
}

TEST(KnownShapes, HaveTheFormatsThatAreAskedFor) {
  const auto format_of = [](const GgufFile& shape, const char* tensor) { return shape.FindTensor(tensor)->format->format; };
  const auto own_head = Must(OpenKnownShape("llama-3.1-8b"));
  EXPECT_EQ(format_of(*own_head, "blk.31.ffn_down.weight"), BlockFormat::kQ4_0);
  EXPECT_EQ(format_of(*own_head, "blk.31.ffn_norm.weight"), BlockFormat::kF32);
  EXPECT_EQ(format_of(*own_head, "output.weight"), BlockFormat::kQ8_0);
  EXPECT_EQ(format_of(*own_head, "token_embd.weight"), BlockFormat::kQ4_0);
  EXPECT_EQ(*own_head->Uint("general.file_type"), 2u);  // Mostly Q4_0.
  EXPECT_EQ(format_of(*Must(OpenKnownShape("llama-3.2-1b")), "token_embd.weight"), BlockFormat::kQ8_0);
  const auto other = Must(OpenKnownShape("llama-3.1-8b", {.layers = BlockFormat::kQ4_K, .head = BlockFormat::kQ6_K,
                                                          .embedding = BlockFormat::kF16}));
  EXPECT_EQ(format_of(*other, "blk.0.attn_q.weight"), BlockFormat::kQ4_K);
  EXPECT_EQ(format_of(*other, "output.weight"), BlockFormat::kQ6_K);
  EXPECT_EQ(format_of(*other, "token_embd.weight"), BlockFormat::kF16);

  // Its width of 896 is no whole number of blocks of 256.
  const absl::Status refused = OpenKnownShape("qwen2.5-0.5b", {.layers = BlockFormat::kQ4_K}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(absl::StartsWith(refused.message(), "shape qwen2.5-0.5b: tensor \"blk.0.attn_q.weight\": ")) << refused;
}

TEST(KnownShapes, HaveTheSizeOfSuchFilesAndNoNumbers) {
  const auto shape = Must(OpenKnownShape("llama-3.2-1b"));
  int64_t bytes = 0;
  for (const GgufTensor& tensor : shape->tensors()) {
    bytes += tensor.size;
    EXPECT_LE(tensor.offset + tensor.size, shape->size());
  }
  EXPECT_GT(shape->size(), bytes);
  EXPECT_LT(shape->size(), bytes + 64 * 1024);  // The header has no vocabulary.
  EXPECT_EQ(shape->unused_bytes(), 0);
  std::vector<std::byte> numbers(4);
  EXPECT_EQ(shape->Read(*shape->FindTensor("output_norm.weight"), 0, absl::MakeSpan(numbers)),
            absl::FailedPreconditionError(
                "shape llama-3.2-1b: tensor \"output_norm.weight\": found its header only, expected its data"));
  EXPECT_FALSE(ReadTokenizer(*shape).ok());
}

TEST(KnownShapes, UnknownNamesAreRefusedWithTheKnownNames) {
  const absl::Status refused = OpenKnownShape("qwen2-3b").status();
  EXPECT_TRUE(absl::IsNotFound(refused));
  EXPECT_TRUE(absl::StartsWith(refused.message(), "shape: found \"qwen2-3b\", expected one of qwen2-0.5b, ")) << refused;
  EXPECT_TRUE(absl::EndsWith(refused.message(), ", gemma-3-4b; did you mean qwen2-7b?")) << refused;
  for (const std::string& name : Names()) EXPECT_TRUE(absl::StrContains(refused.message(), name)) << name;
  EXPECT_TRUE(absl::EndsWith(OpenKnownShape("").status().message(), ", gemma-3-4b"));
  EXPECT_TRUE(absl::IsNotFound(OpenKnownShape("Qwen3-4B").status()));
}

TEST(OpenShape, TakesANameOrAPath) {
  EXPECT_EQ(Must(OpenShape("qwen3-0.6b"))->path(), "shape qwen3-0.6b");
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.String("general.name", "a file").Tensor("a", BlockFormat::kF32, {40});
  for (const char* name : {"model.gguf", "model", "qwen3-0.6b"}) {
    const std::string path = folder.Path(name);
    Must(WriteZeros(writer, path));
    EXPECT_EQ(*Must(OpenShape(path))->String("general.name"), "a file");
  }
  const absl::Status missing = OpenShape(folder.Path("other.gguf")).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_TRUE(absl::StrContains(missing.message(), folder.Path("other.gguf"))) << missing;
  EXPECT_TRUE(absl::IsInvalidArgument(OpenShape(folder.path()).status()));  // A folder, which Open names.
  const absl::Status unknown = OpenShape("qwen3-0.6").status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_TRUE(absl::EndsWith(unknown.message(), ", gemma-3-4b, or the path of a GGUF file; did you mean qwen3-0.6b?")) << unknown;
  EXPECT_TRUE(absl::IsNotFound(OpenShape("").status()));
}

// A known name is the shape, whatever lies in the working folder.
TEST(OpenShape, PrefersKnownNamesToFiles) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  GgufWriter writer;
  writer.String("general.name", "a file");
  Must(WriteZeros(writer, folder.Path("qwen3-0.6b")));
  std::filesystem::current_path(folder.path());
  const auto shape = OpenShape("qwen3-0.6b"), file = OpenShape("./qwen3-0.6b");
  std::filesystem::current_path(before);
  ASSERT_TRUE(shape.ok() && file.ok()) << shape.status() << file.status();
  EXPECT_EQ(*(*shape)->String("general.name"), "qwen3-0.6b");
  EXPECT_EQ(*(*file)->String("general.name"), "a file");
}

TEST(GgufWriter, HeaderOnlyIsThatOfTheFile) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.String("general.name", "odd").Number<uint32_t>("some.number", 7);
  writer.Tensor("a", BlockFormat::kF32, {41}).Tensor("b", BlockFormat::kQ8_0, {32, 3});
  Must(WriteZeros(writer, folder.Path("model.gguf")));
  const GgufFile::Header expected = Must(Must(GgufFile::Open(folder.Path("model.gguf")))->HeaderOf(0));
  const GgufFile::Header found = Must(writer.HeaderOnly());
  EXPECT_EQ(found.bytes.span(), expected.bytes.span());
  EXPECT_EQ(found.file_bytes, expected.file_bytes);
  EXPECT_TRUE(Must(GgufFile::ParseHeaders({found}, "header"))->FindTensor("b") != nullptr);
  writer.Tensor("a", BlockFormat::kF32, {1});
  EXPECT_EQ(writer.HeaderOnly().status(), writer.FileSize().status());
  EXPECT_FALSE(writer.HeaderOnly().ok());
}

}  // namespace
}  // namespace tessera
