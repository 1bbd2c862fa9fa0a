// Adapters as people have them: names, targets and folders that mean the same adapter.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/internal/adapter_keys.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/tests/fakes/bad_adapters.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/mlx_builder.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class AdapterForms : public testing::Test {
 protected:
  AdapterForms() : file_(Must(GgufFile::Open(GoldenPath("tiny/llama.gguf")))), config_(Must(ReadModelConfig(*file_))) {}

  std::string Folder(const PeftBuilder& builder) {
    const std::string folder = folder_.Path(absl::StrCat("adapter", folders_++));
    builder.WriteTo(folder);
    return folder;
  }
  AdapterFile Read(const std::string& path) const { return Must(ReadAdapter(path, *file_, config_)); }
  AdapterFile Read(const PeftBuilder& builder) { return Read(Folder(builder)); }

  const std::unique_ptr<GgufFile> file_;
  const ModelConfig config_;
  const TemporaryFolder folder_;
  int folders_ = 0;
};

// The configuration as PEFT 0.17 writes it, with values of a real training.
PeftBuilder WholeFolder() {
  PeftBuilder builder;
  for (const auto& [key, json] :
       {std::pair("alpha_pattern", "{}"), {"auto_mapping", "null"}, {"base_model_name_or_path", "\"meta/model\""}, {"corda_config", "null"},
        {"eva_config", "null"}, {"exclude_modules", "null"}, {"inference_mode", "true"}, {"layer_replication", "null"},
        {"layers_pattern", "null"}, {"layers_to_transform", "null"}, {"loftq_config", "{}"}, {"lora_bias", "false"},
        {"megatron_config", "null"}, {"megatron_core", "\"megatron.core\""}, {"qalora_group_size", "16"}, {"revision", "null"},
        {"target_parameters", "null"}, {"trainable_token_indices", "null"}, {"use_qalora", "false"}}) {
    builder.config[key] = json;
  }
  return builder;
}

// Names that the model does not have, names whose modules have no tensors, patterns, and what is excluded.
TEST_F(AdapterForms, TargetsMayNameMoreThanTheModelAndTheFileHave) {
  const std::vector<AdapterPair> pairs = Read(PeftBuilder()).pairs;
  for (const char* const targets :
       {"[\"q_proj\",\"down_proj\",\"query_key_value\",\"c_attn\"]", "[\"q_proj\",\"v_proj\",\"down_proj\",\"q_.*\",\"\"]",
        "[\"model.layers.0.self_attn.q_proj\",\"1.self_attn.q_proj\",\"mlp.down_proj\"]", "\"all-linear\"", "\"ALL-linear\"", "\".*\"",
        "\".*(q|down)_proj\"", "\"model\\\\.layers\\\\.\\\\d+\\\\.(self_attn|mlp)\\\\.(?:q|down)_proj\"",
        "\"^(?!.*vision).*(?:q_proj|down_proj).*\"",
        "\"(?:.*?(?:language|text).*?)|(?:\\\\bmodel\\\\.layers\\\\.[\\\\d]{1,}\\\\.(?:self_attn|mlp)\\\\.(?:(?:q_proj|down_proj)))\""}) {
    PeftBuilder builder = WholeFolder();
    builder.config["target_modules"] = targets;
    EXPECT_TRUE(Read(builder).pairs == pairs) << targets;
  }
  for (const char* const excluded :
       {"[\"k_proj\"]", "[\"0.mlp.down_proj\",\"proj\"]", "\"q_proj|.*k_proj\"", "\".*layers\\\\.[2-9]\\\\..*\""}) {
    PeftBuilder builder = WholeFolder();
    builder.config["target_modules"] = "[\"q_proj\",\"k_proj\",\"down_proj\"]";
    builder.config["exclude_modules"] = excluded;
    EXPECT_TRUE(Read(builder).pairs == pairs) << excluded;
  }
}

// Where training begins with random numbers, all that is targeted must be there; all of it may.
TEST_F(AdapterForms, AFolderThatBeganAtRandomIsReadIfNoModuleIsMissing) {
  PeftBuilder builder;
  builder.config["init_lora_weights"] = "false";
  builder.config["target_modules"] = "[\"q_proj\",\"1.mlp.down_proj\"]";
  EXPECT_EQ(Read(builder).pairs.size(), 3u);
}

TEST_F(AdapterForms, ALayerCountsWhereAModuleIsNamedByItsLastWordsAlone) {
  PeftBuilder builder;
  builder.config["target_modules"] = "[\"q_proj\",\"model.layers.1.mlp.down_proj\",\"model.layers.1.self_attn.q_proj\"]";
  builder.config["layers_to_transform"] = "0";
  EXPECT_EQ(Read(builder).pairs.size(), 3u);
}

// Keys of both are patterns that begin anywhere at a word and end with the name; the first in the file that fits counts.
TEST_F(AdapterForms, RanksAndAlphasGoByPatterns) {
  struct Row { const char* alphas; float first, second, down; };
  for (const Row& row : {Row{"{\"^model.layers.0.self_attn.q_proj\":4}", 2, 3, 3}, Row{"{\"^layers.0.self_attn.q_proj\":4}", 3, 3, 3},
                         Row{"{\"layers.[0-9].mlp.*\":4,\".*\":8}", 4, 4, 2}, Row{"{\".*\":8,\"layers.[0-9].mlp.*\":4}", 4, 4, 4},
                         Row{"{\"proj\":8}", 3, 3, 3}, Row{"{\"q_proj$|^down_proj$\":8}", 4, 4, 3}, Row{"{\"(q|down)_proj\":8}", 4, 4, 4},
                         Row{"{\"\\\\d+\\\\.self_attn\\\\.q_proj\":8}", 4, 4, 3}, Row{"{\"ayers.1.mlp.down_proj\":8}", 3, 3, 3}}) {
    PeftBuilder builder;
    builder.config["alpha_pattern"] = row.alphas;
    const AdapterFile adapter = Read(builder);
    EXPECT_EQ(adapter.pairs[0].scale, row.first) << row.alphas;
    EXPECT_EQ(adapter.pairs[1].scale, row.second) << row.alphas;
    EXPECT_EQ(adapter.pairs[2].scale, row.down) << row.alphas;
  }
  PeftBuilder builder;
  builder.config["r"] = "16";
  builder.config["rank_pattern"] = "{\".*\\\\.q_proj\":2,\"^.*1.*down_proj$\":2}";
  EXPECT_TRUE(Read(builder).pairs == Read(PeftBuilder()).pairs);
}

// With and without what programs put around them.
TEST_F(AdapterForms, NamesOfTensorsMeanTheSameInAllTheirForms) {
  const std::vector<AdapterPair> pairs = Read(PeftBuilder()).pairs;
  struct Form { const char *beginning, *ending; bool is_model_layers; };
  for (const Form& form :
       {Form{"base_model.model.model.", ".default.weight", true}, {"model.", ".weight", true}, {"model.", ".default.weight", true},
        {"base_model.model.language_model.model.", ".weight", false}, {"base_model.model.model.language_model.", ".weight", false},
        {"model.language_model.", ".weight", false}, {"language_model.model.", ".default.weight", false},
        {"base_model.model.", ".weight", false}}) {
    PeftBuilder builder;
    for (PeftBuilder::Tensor& tensor : builder.tensors) {
      tensor.name = absl::StrReplaceAll(tensor.name, {{"base_model.model.model.", form.beginning}, {".weight", form.ending}});
    }
    EXPECT_TRUE(Read(builder).pairs == pairs) << builder.tensors[0].name;
    builder.config["alpha_pattern"] = "{\"^model.layers.0.self_attn.q_proj\":4}";
    EXPECT_EQ(Read(builder).pairs[0].scale, form.is_model_layers ? 2 : 3) << "a pattern is of the file's name: " << builder.tensors[0].name;
  }
}

TEST_F(AdapterForms, KeysThatChangeNothingMayHaveAnyValue) {
  int values = 0;
  for (const AdapterKey& key : PeftKeys()) {
    if (key.judgement != AdapterKey::kNoEffect) continue;
    for (const char* const json : {"null", "0.5", "\"x\"", "{\"a\":[1]}", "true"}) {
      PeftBuilder builder;
      builder.config[key.key] = json;
      EXPECT_EQ(Read(builder).pairs.size(), 3u) << key.key << " " << json;
      ++values;
    }
  }
  EXPECT_GE(values, 5 * 15);
}

TEST_F(AdapterForms, KeysOfMlxThatChangeNothingMayHaveAnyValue) {
  for (const AdapterKey& key : MlxKeys()) {
    if (key.judgement != AdapterKey::kNoEffect) continue;
    PeftBuilder builder = MlxFolder();
    builder.config[key.key] = "{\"a\":[1]}";
    EXPECT_EQ(Read(builder).pairs.size(), 3u) << key.key;
  }
}

// In the order of mlx-lm number i of A's rows is column i: [inputs, rank].
TEST_F(AdapterForms, AnMlxFolderIsTurnedAround) {
  const AdapterFile adapter = Read(MlxFolder());
  ASSERT_EQ(adapter.pairs.size(), 3u);
  const AdapterPair& down = adapter.pairs[2];
  EXPECT_EQ(down.matrix, "ffn_down");
  EXPECT_EQ(down.rank, 2);
  EXPECT_EQ(down.scale, 3) << "whatever the rank";
  const std::vector<float> a = down.a.Floats(), b = down.b.Floats();
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < 96; ++i) EXPECT_EQ(a[rank * 96 + i], static_cast<float>(i * 2 + rank + 400));
    for (int i = 0; i < 64; ++i) EXPECT_EQ(b[i * 2 + rank], static_cast<float>(rank * 64 + i + 500));
  }
  PeftBuilder other = MlxFolder();
  other.config.erase("num_layers");
  other.config["lora_layers"] = "-1";
  other.config["lora_parameters"] = "{\"rank\":2,\"scale\":3,\"alpha\":2.0,\"keys\":null}";
  EXPECT_TRUE(Read(other).pairs == adapter.pairs);
  other.config["lora_layers"] = "0";
  other.config.erase("fine_tune_type");
  EXPECT_TRUE(Read(other).pairs == adapter.pairs);
  other = MlxFolder();
  other.config["num_layers"] = "1";
  other.config["lora_parameters"] = "{\"rank\":2,\"scale\":3,\"keys\":[\"self_attn.q_proj\",\"mlp.down_proj\","
                                    "\"model.layers.0.self_attn.q_proj\"]}";
  EXPECT_TRUE(Read(other).pairs == adapter.pairs) << "a whole name goes for any layer";
}

// The golden adapter, written as mlx-lm would: each matrix transposed, and its scale itself.
TEST_F(AdapterForms, AnMlxFolderOfTheSameNumbersIsTheSameAdapter) {
  const auto peft = Must(SafetensorsFile::Open(GoldenPath("lora/llama-all/adapter_model.safetensors")));
  PeftBuilder builder = MlxFolder();
  builder.config["lora_parameters"] = "{\"rank\":4,\"scale\":2.0,\"dropout\":0.0}";
  builder.tensors.clear();
  for (const SafetensorsTensor& tensor : peft->tensors()) {
    const int index = static_cast<int>(builder.tensors.size());
    builder.tensors.push_back({MlxName(tensor.name), {tensor.shape[1], tensor.shape[0]}});
    std::vector<uint16_t> numbers(static_cast<size_t>(tensor.count));
    Must(peft->Read(tensor, 0, absl::MakeSpan(reinterpret_cast<std::byte*>(numbers.data()), static_cast<size_t>(tensor.size))));
    for (int64_t row = 0; row < tensor.shape[0]; ++row) {
      for (int64_t column = 0; column < tensor.shape[1]; ++column) {
        builder.numbers[{index, static_cast<int>(column * tensor.shape[0] + row)}] =
            numbers[static_cast<size_t>(row * tensor.shape[1] + column)];
      }
    }
  }
  EXPECT_TRUE(Read(builder).pairs == Read(GoldenPath("lora/llama-all")).pairs);
}

TEST_F(AdapterForms, EveryNamedMlxFolderIsSaidWhereAndWhy) {
  std::set<std::string> names;
  for (const BadPeft& row : BadMlxFolders()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    PeftBuilder builder = MlxFolder();
    row.spoil(builder);
    const std::string folder = Folder(builder);
    const absl::Status status = ReadAdapter(folder, *file_, config_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name << ": " << status;
    std::string expected = absl::StrCat(folder, "/", absl::StrReplaceAll(row.message, {{"FOLDER", folder}}));
    const bool begins = absl::EndsWith(expected, "*");
    if (begins) expected.pop_back();
    EXPECT_EQ(std::string(begins ? status.message().substr(0, expected.size()) : status.message()), expected) << row.name;
  }
  EXPECT_GE(names.size(), 18u);
}

TEST_F(AdapterForms, NumbersOfOlderMlxFoldersAreNamed) {
  const std::string folder = Folder(MlxFolder());
  std::filesystem::rename(folder + "/adapters.safetensors", folder + "/adapters.npz");
  const absl::Status status = ReadAdapter(folder, *file_, config_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StartsWith(status.message(), folder + "/adapters.npz: found numbers as Python programs keep them")) << status;
}

// As in the program that made this kind of file.
TEST_F(AdapterForms, AGgufFileWithoutAlphaHasAScaleOfOne) {
  const std::string path = folder_.Path("adapter.gguf");
  for (const char* const alpha : {"", "0", "-0"}) {
    GgufBuilder builder = SmallGgufAdapter();
    builder.Remove("adapter.lora.alpha");
    if (*alpha != 0) builder.Number("adapter.lora.alpha", std::stof(alpha));
    builder.WriteTo(path);
    EXPECT_EQ(Read(path).pairs[0].scale, 1) << alpha;
  }
  SmallGgufAdapter().WriteTo(path);
  EXPECT_EQ(Read(path).pairs[0].scale, 3);
}

}  // namespace
}  // namespace tessera
