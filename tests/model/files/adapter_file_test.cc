#include "tessera/model/files/adapter_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/importance.h"
#include "tessera/tests/fakes/bad_adapters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct Base {
  explicit Base(const std::string& name)
      : file(Must(GgufFile::Open(GoldenPath("tiny/" + name + ".gguf")))), config(Must(ReadModelConfig(*file))) {}
  AdapterFile Read(const std::string& path) const { return Must(ReadAdapter(path, *file, config)); }

  std::unique_ptr<GgufFile> file;
  ModelConfig config;
};

// A message that ends in * says how the other begins.
void ExpectRefused(const std::string& name, const absl::Status& status, const std::string& expected) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name << ": " << status;
  const bool begins = absl::EndsWith(expected, "*");
  const size_t size = expected.size() - (begins ? 1 : 0);
  EXPECT_EQ(std::string(begins ? status.message().substr(0, size) : status.message()), expected.substr(0, size)) << name;
}

class AdapterFileTest : public testing::Test {
 protected:
  std::string Folder(const PeftBuilder& builder) {
    const std::string folder = folder_.Path(absl::StrCat("adapter", folders_++));
    builder.WriteTo(folder);
    return folder;
  }

  const Base llama_{"llama"};
  const TemporaryFolder folder_;
  int folders_ = 0;
};

absl::StatusOr<float> Example(const std::string& path, const GgufFile* model, const ModelConfig& config) {
  float sum = 0;
  const auto Use = [&](int layer, const std::string&, const std::vector<float>& a, const std::vector<float>& b, float scale) {
    sum += static_cast<float>(layer) + a[1] + b[1] + scale;
  };
  ASSIGN_OR_RETURN(AdapterFile adapter, ReadAdapter(path, *model, config));
  for (const AdapterPair& pair : adapter.pairs) Use(pair.layer, pair.matrix, pair.a.Floats(), pair.b.Floats(), pair.scale);
  return sum;
}

// Number 1 of each A and B is 1 + 100 t; turning rows leaves the first where it is. Scales are 6 / 2.
TEST_F(AdapterFileTest, HeaderExample) {
  EXPECT_EQ(Must(Example(Folder(PeftBuilder()), llama_.file.get(), llama_.config)), 2 + 6 + 100 * (1 + 2 + 3 + 4 + 5) + 3 * 3);
}

TEST_F(AdapterFileTest, FoldersAndGgufFilesOfAnAdapterAreAlike) {
  for (const auto& [name, model, pairs, rank] :
       {std::tuple("llama-all", "llama", 14, 4), {"llama-qv", "llama", 4, 8}, {"qwen3-attn", "qwen3", 8, 4}}) {
    SCOPED_TRACE(name);
    const Base base(model);
    const AdapterFile folder = base.Read(GoldenPath(absl::StrCat("lora/", name)));
    const AdapterFile gguf = base.Read(GoldenPath(absl::StrCat("lora/", name, ".gguf")));
    ASSERT_EQ(folder.pairs.size(), static_cast<size_t>(pairs));
    EXPECT_TRUE(folder.pairs == gguf.pairs);
    EXPECT_EQ(folder.Bytes(), gguf.Bytes());
    EXPECT_EQ(folder.pairs[0].rank, rank);
    EXPECT_EQ(folder.pairs[0].scale, 2);
    EXPECT_EQ(folder.pairs[0].matrix, "attn_q");
    EXPECT_EQ(folder.pairs[0].a.format, BlockFormat::kF16);
    EXPECT_EQ(folder.pairs.back().layer, 1);
  }
}

// Row i of a head's first half goes to 2 i, row i of the second to 2 i + 1; of other matrices, and of other architectures, none moves.
TEST_F(AdapterFileTest, RowsOfQueriesAndKeysTurnWhereTheModelsDid) {
  PeftBuilder builder;
  builder.config["target_modules"] = "[\"q_proj\",\"k_proj\",\"v_proj\"]";
  builder.tensors.clear();
  for (const auto& [module, outputs] : {std::pair("self_attn.q_proj", 64), {"self_attn.k_proj", 32}, {"self_attn.v_proj", 32}}) {
    builder.tensors.push_back({PeftName(1, module, 'A'), {2, 64}});
    builder.tensors.push_back({PeftName(1, module, 'B'), {outputs, 2}});
  }
  const AdapterFile adapter = llama_.Read(Folder(builder));
  ASSERT_EQ(adapter.pairs.size(), 3u);
  for (int matrix = 0; matrix < 3; ++matrix) {
    const AdapterPair& pair = adapter.pairs[static_cast<size_t>(matrix)];
    const std::vector<float> numbers = pair.b.Floats();
    for (int64_t head = 0; head < pair.b.rows / 16; ++head) {
      for (int64_t i = 0; i < 8; ++i) {
        for (const int64_t half : {0, 1}) {
          const int64_t before = head * 16 + half * 8 + i, after = matrix == 2 ? before : head * 16 + 2 * i + half;
          EXPECT_EQ(numbers[after * 2 + 1], static_cast<float>(before * 2 + 1 + 100 * (2 * matrix + 1))) << pair.matrix << " " << before;
        }
      }
    }
    EXPECT_EQ(pair.a.Floats()[64], 64 + 100 * 2 * matrix) << "rows of A are the rank";
  }
}

TEST_F(AdapterFileTest, QueriesOfAModelWhoseHeadsTurnHalfAreRefused) {
  ModelConfig config = llama_.config;
  config.ropes[0].dimensions = 8;
  const std::string folder = Folder(PeftBuilder());
  ExpectRefused("half turns", ReadAdapter(folder, *llama_.file, config).status(),
                absl::StrCat(folder, "/adapter_model.safetensors: tensor ", Quoted(PeftName(0, PeftBuilder::kQuery, 'B')),
                             ": found a model of which 8 of 16 numbers of a head turn, expected all: the order of its rows is not known"));
}

TEST_F(AdapterFileTest, ScalesFollowRankAndAlphaOfEachModule) {
  PeftBuilder builder;
  builder.config["alpha_pattern"] = "{\"layers.1.self_attn.q_proj\":8.5,\"q_proj\":4}";
  builder.config["rank_pattern"] = "{\"down_proj\":3}";
  builder.tensors[4].shape = {3, 96};
  builder.tensors[5].shape = {64, 3};
  const AdapterFile plain = llama_.Read(Folder(builder));
  EXPECT_EQ(plain.pairs[0].scale, 2.0f);      // 4 / 2
  EXPECT_EQ(plain.pairs[1].scale, 4.25f);     // 8.5 / 2: the first name that fits counts.
  EXPECT_EQ(plain.pairs[2].scale, 2.0f);      // 6 / 3
  EXPECT_EQ(plain.pairs[2].rank, 3);
  builder.config["use_rslora"] = "true";
  const AdapterFile root = llama_.Read(Folder(builder));
  EXPECT_FLOAT_EQ(root.pairs[0].scale, 2.8284271f);
  EXPECT_FLOAT_EQ(root.pairs[2].scale, 3.4641016f);
}

TEST_F(AdapterFileTest, HarmlessKeysAreNoError) {
  PeftBuilder builder;
  const AdapterFile before = llama_.Read(Folder(builder));
  for (const auto& [key, json] :
       {std::pair("layers_to_transform", "[0,1]"), {"layers_pattern", "\"layers\""}, {"layers_pattern", "[\"h\",\"model.layers\"]"},
        {"layers_pattern", "[]"}, {"layers_to_transform", "[]"}, {"use_new_kind", "null"}, {"another_kind", "false"},
        {"init_lora_weights", "\"gaussian\""}, {"init_lora_weights", "\"MiCA\""}, {"base_model_name_or_path", "\"x/y\""},
        {"exclude_modules", "[\"v_proj\"]"}, {"exclude_modules", "\"\""}, {"modules_to_save", "[]"}, {"task_type", "null"}}) {
    builder.config[key] = json;
    EXPECT_TRUE(llama_.Read(Folder(builder)).pairs == before.pairs) << key << " " << json;
  }
}

TEST_F(AdapterFileTest, WhateverAFileSaysOtherwiseGivesOtherPairs) {
  std::vector<std::vector<AdapterPair>> all;
  const auto add = [&](const PeftBuilder& builder) {
    std::vector<AdapterPair> pairs = llama_.Read(Folder(builder)).pairs;
    EXPECT_EQ(std::find(all.begin(), all.end(), pairs), all.end());
    all.push_back(std::move(pairs));
  };
  PeftBuilder builder;
  add(builder);
  builder.config["lora_alpha"] = "7";
  add(builder);
  builder.numbers[{0, 127}] = 0;
  add(builder);
  builder.tensors.resize(4);
  builder.config["target_modules"] = "[\"q_proj\"]";
  add(builder);
  for (PeftBuilder::Tensor& tensor : builder.tensors) tensor.dtype = "BF16";
  add(builder);
}

// Formats of blocks are widened: these are numbers of a kind that no PEFT folder holds.
TEST_F(AdapterFileTest, BlocksOfGgufFilesAreWidened) {
  std::string blocks;
  for (int i = 0; i < 4; ++i) blocks += SafetensorsBuilder::BytesOf(FloatToHalf(0.5f)) + std::string(32, static_cast<char>(i + 1));
  GgufBuilder builder = SmallGgufAdapter();
  builder.RemoveTensor(kGgufHalfA).Tensor(kGgufHalfA, {64, 2}, /*Q8_0*/ 8, blocks).WriteTo(folder_.Path("q8.gguf"));
  const AdapterFile adapter = llama_.Read(folder_.Path("q8.gguf"));
  ASSERT_EQ(adapter.pairs.size(), 1u);
  EXPECT_EQ(adapter.pairs[0].a.format, BlockFormat::kF32);
  EXPECT_EQ(adapter.pairs[0].a.Floats()[0], 0.5f);
  EXPECT_EQ(adapter.pairs[0].a.Floats()[127], 2.0f);
  EXPECT_EQ(adapter.pairs[0].b.format, BlockFormat::kF16);
  EXPECT_EQ(adapter.pairs[0].scale, 3);
}

TEST_F(AdapterFileTest, TheModelsOwnMarkIsAccepted) {
  const uint32_t mark = Must(Importance::MarkOf(*llama_.file, llama_.config)).vectors;
  PeftBuilder builder;
  builder.metadata = absl::StrCat("{\"tessera.model.vectors\":\"", mark, "\"}");
  EXPECT_EQ(llama_.Read(Folder(builder)).pairs.size(), 3u);
  SmallGgufAdapter().Number("tessera.model.vectors", mark).WriteTo(folder_.Path("marked.gguf"));
  EXPECT_EQ(llama_.Read(folder_.Path("marked.gguf")).pairs.size(), 1u);
}

TEST_F(AdapterFileTest, EveryNamedFolderIsSaidWhereAndWhy) {
  std::set<std::string> names;
  for (const BadPeft& row : BadPeftFolders()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    PeftBuilder builder;
    row.spoil(builder);
    const std::string folder = Folder(builder);
    ExpectRefused(row.name, ReadAdapter(folder, *llama_.file, llama_.config).status(),
                  absl::StrCat(folder, "/", absl::StrReplaceAll(row.message, {{"FOLDER", folder}})));
  }
  EXPECT_GE(names.size(), 80u);
}

TEST_F(AdapterFileTest, EveryNamedGgufFileIsSaidWhereAndWhy) {
  const std::string path = folder_.Path("adapter.gguf");
  SmallGgufAdapter().WriteTo(path);
  EXPECT_EQ(llama_.Read(path).pairs.size(), 1u);
  std::set<std::string> names;
  for (const BadGgufAdapter& row : BadGgufAdapters()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    GgufBuilder builder = SmallGgufAdapter();
    row.spoil(builder);
    builder.WriteTo(path);
    ExpectRefused(row.name, ReadAdapter(path, *llama_.file, llama_.config).status(), absl::StrCat(path, ": ", row.message));
  }
  EXPECT_GE(names.size(), 20u);
}

TEST_F(AdapterFileTest, AnAdapterOfAnotherModelIsRefused) {
  EXPECT_FALSE(ReadAdapter(GoldenPath("lora/qwen3-attn"), *llama_.file, llama_.config).ok());
  EXPECT_FALSE(ReadAdapter(GoldenPath("lora/qwen3-attn.gguf"), *llama_.file, llama_.config).ok());
  EXPECT_FALSE(ReadAdapter(GoldenPath("tiny/llama.gguf"), *llama_.file, llama_.config).ok());
}

// A file is checked once, and its numbers are read as often as they are wanted.
TEST_F(AdapterFileTest, AnOpenFileGivesTheSameNumbersUntilWrittenTo) {
  for (const char* const name : {"lora/llama-all", "lora/llama-all.gguf"}) {
    const bool is_gguf = absl::EndsWith(name, ".gguf");
    const std::string path = folder_.Path(is_gguf ? "open.gguf" : "open");
    std::filesystem::copy(GoldenPath(name), path, std::filesystem::copy_options::recursive);
    const auto reader = Must(AdapterReader::Open(path, *llama_.file, llama_.config));
    const AdapterFile expected = llama_.Read(GoldenPath(name));
    ASSERT_EQ(reader->shapes().pairs.size(), expected.pairs.size());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Must(reader->Read()).pairs, expected.pairs) << name;
    for (const AdapterPair& pair : reader->shapes().pairs) EXPECT_TRUE(pair.a.bytes.empty() && pair.b.bytes.empty());
    std::vector<size_t> numbers;
    Must(reader->ReadPairs([&](size_t number, AdapterPair&& pair) {
      numbers.push_back(number);
      EXPECT_EQ(pair, expected.pairs[number]);
      return absl::OkStatus();
    }));
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i);
    EXPECT_EQ(numbers.size(), expected.pairs.size());
    EXPECT_EQ(reader->ReadPairs([](size_t, AdapterPair&&) { return absl::AbortedError("enough"); }), absl::AbortedError("enough"));
    std::ofstream(is_gguf ? path : path + "/adapter_model.safetensors", std::ios::app) << "more";
    EXPECT_EQ(reader->Read().status().code(), absl::StatusCode::kFailedPrecondition) << name;
  }
}

// What is packed has its vectors, so an adapter's mark is compared there, too.
TEST_F(AdapterFileTest, AMarkIsThatOfThePackedModel) {
  const PackedModel packed(GoldenPath("tiny/llama.gguf"));
  const auto file = Must(ModelFile::Open(packed.path()));
  const uint32_t mark = Must(MarkedModel(*file).Vectors());
  PeftBuilder builder;
  builder.metadata = absl::StrCat("{\"tessera.model.vectors\":\"", mark, "\"}");
  EXPECT_EQ(Must(ReadAdapter(Folder(builder), *file, llama_.config)).pairs.size(), 3u);
  builder.metadata = absl::StrCat("{\"tessera.model.vectors\":\"", mark ^ 1, "\"}");
  EXPECT_TRUE(absl::StrContains(ReadAdapter(Folder(builder), *file, llama_.config).status().message(),
                                absl::StrCat("expected ", mark, ", the mark of ", packed.path())));
}

TEST_F(AdapterFileTest, PathsWithoutAnAdapterNameTheMissingPart) {
  const auto status = [&](const std::string& path) { return ReadAdapter(path, *llama_.file, llama_.config).status(); };
  EXPECT_EQ(status(folder_.Path("none")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status(folder_.path()).code(), absl::StatusCode::kNotFound);   // Without a configuration.
  const std::string folder = Folder(PeftBuilder());
  const std::string numbers = folder + "/adapter_model.safetensors", older = folder + "/adapter_model.bin";
  EXPECT_EQ(status(numbers),
            absl::InvalidArgumentError(numbers + ": found a file of an adapter's folder, expected the folder, or a GGUF file"));
  std::filesystem::rename(numbers, older);
  EXPECT_EQ(status(folder).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StartsWith(status(folder).message(), older + ": found numbers as Python programs keep them")) << status(folder);
}

}  // namespace
}  // namespace tessera
