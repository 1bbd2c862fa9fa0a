#include "tessera/model/files/tensor_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

ModelConfig Small() {
  ModelConfig config;
  config.width = 64, config.feed_forward = 96, config.heads = 4, config.kv_heads = 2, config.head_size = 32, config.vocabulary = 265;
  config.layers.resize(3);
  return config;
}

std::vector<std::string> Labels(const ModelConfig& config) {
  std::vector<std::string> labels;
  for (const TensorNeed& need : LayerNeeds(config, 0)) labels.push_back(need.label);
  return labels;
}

TEST(TensorNames, HeaderExample) {
  const ModelConfig config = Small();
  std::vector<std::string> found;
  const auto Check = [&](const std::string& name, int64_t rows, int64_t columns) {
    found.push_back(absl::StrCat(name, " ", rows, " ", columns));
  };
  for (const TensorNeed& need : LayerNeeds(config, /*layer=*/0)) Check(need.name, need.rows, need.columns);
  const std::vector<std::string> expected = {
      "blk.0.attn_norm.weight 1 64",   "blk.0.attn_q.weight 128 64", "blk.0.attn_k.weight 64 64",   "blk.0.attn_v.weight 64 64",
      "blk.0.attn_output.weight 64 128", "blk.0.ffn_norm.weight 1 64", "blk.0.ffn_gate.weight 96 64", "blk.0.ffn_up.weight 96 64",
      "blk.0.ffn_down.weight 64 96"};
  EXPECT_EQ(found, expected);
}

TEST(TensorNames, LabelsAreTheSameForAllLayers) {
  const std::vector<TensorNeed> first = LayerNeeds(Small(), 0), last = LayerNeeds(Small(), 2);
  ASSERT_EQ(first.size(), last.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].label, last[i].label);
    EXPECT_EQ(last[i].name, "blk.2." + last[i].label);
  }
}

TEST(TensorNames, EachPartOfAnArchitectureBringsItsTensors) {
  const std::vector<std::string> plain = Labels(Small());
  const auto added = [&](auto&& change) {
    ModelConfig config = Small();
    change(config);
    std::set<std::string> labels;
    for (const std::string& label : Labels(config)) labels.insert(label);
    for (const std::string& label : plain) EXPECT_EQ(labels.erase(label), 1u) << label;
    return labels;
  };
  using Set = std::set<std::string>;
  for (const LayerBias& bias : kLayerBiases) {
    EXPECT_EQ(added([&](ModelConfig& c) { c.layers[0].biases.*bias.flag = true; }), Set{bias.label});
  }
  EXPECT_EQ(added([](ModelConfig& c) { c.query_key_norm = true; }), (Set{"attn_q_norm.weight", "attn_k_norm.weight"}));
  EXPECT_EQ(added([](ModelConfig& c) { c.post_norms = true; }), (Set{"post_attention_norm.weight", "post_ffw_norm.weight"}));
}

TEST(TensorNames, TableNormAndHead) {
  const ModelConfig config = Small();
  for (const TensorNeed& matrix : {EmbeddingNeed(config), HeadNeed(config)}) {
    EXPECT_EQ(matrix.rows, 265);
    EXPECT_EQ(matrix.columns, 64);
    EXPECT_FALSE(matrix.vector);
  }
  EXPECT_EQ(EmbeddingNeed(config).name, "token_embd.weight");
  EXPECT_EQ(HeadNeed(config).name, "output.weight");
  EXPECT_EQ(OutputNormNeed(config).name, "output_norm.weight");
  EXPECT_TRUE(OutputNormNeed(config).vector);
  EXPECT_EQ(OutputNormNeed(config).columns, 64);
}

TEST(TensorNames, ATiedHeadIsTheTableAndABiasIsAsLongAsTheVocabulary) {
  ModelConfig config = Small();
  config.tied_head = true;
  EXPECT_EQ(HeadNeed(config).name, "token_embd.weight");
  EXPECT_EQ(HeadBiasNeed(config).name, "output.bias");
  EXPECT_EQ(HeadBiasNeed(config).columns, 265);
  EXPECT_TRUE(HeadBiasNeed(config).vector);
}

// Each file holds exactly the tensors that its configuration asks for, and perhaps the factors of RoPE, which belong to the configuration.
TEST(TensorNames, FilesHoldNothingElse) {
  for (const char* name : kTinyModels) {
    const auto file = Must(GgufFile::Open(absl::StrCat(TESSERA_SOURCE_DIR, "/tests/golden/tiny/", name, ".gguf")));
    const ModelConfig config = Must(ReadModelConfig(*file));
    std::set<std::string> needed, held;
    for (const TensorNeed& need : AllNeeds(config)) EXPECT_TRUE(needed.insert(need.name).second) << need.name;
    for (const GgufTensor& tensor : file->tensors()) held.insert(std::string(tensor.name));
    held.erase(kRopeFactors);
    EXPECT_EQ(needed, held) << name;
  }
}

}  // namespace
}  // namespace tessera
