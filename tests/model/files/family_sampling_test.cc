#include "tessera/model/files/family_sampling.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/base/text_file.h"
#include "tessera/model/text/sampler.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/real_models.h"

namespace tessera {
namespace {

struct Names {
  const char* architecture = "llama";
  const char* name = "";
  const char* basename = "";
  const char* size = "";
  const char* finetune = "";
  bool has_template = true;
};

// The family's name, and a penalty that its size has.
std::string FamilyOf(const Names& names) {
  GgufBuilder builder;
  builder.String("general.architecture", names.architecture);
  for (const auto& [key, text] : {std::pair("general.name", names.name), std::pair("general.basename", names.basename),
                                  std::pair("general.size_label", names.size), std::pair("general.finetune", names.finetune)}) {
    if (*text != '\0') builder.String(key, text);
  }
  if (names.has_template) builder.String("tokenizer.chat_template", "{{ messages[0].content }}");
  const std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  const FamilySampling* const family = FamilySamplingOf(*file);
  if (family == nullptr) return "";
  return family->repetition_penalty.has_value() ? absl::StrCat(family->family, " ", *family->repetition_penalty) : family->family;
}

TEST(FamilySampling, HeaderExample) {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").String("general.basename", "smollm2").String("tokenizer.chat_template", "{{ a }}");
  const std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  SamplingOptions options;
  if (const FamilySampling* family = FamilySamplingOf(*file); family != nullptr && family->temperature.has_value()) {
    options.temperature = *family->temperature;
  }
  EXPECT_EQ(options.temperature, 0.2f);
}

TEST(FamilySampling, AFamilyIsToldByItsBasename) {
  EXPECT_EQ(FamilyOf({.name = "Smollm2 135M 8k Lc100K Mix1 Ep2", .basename = "smollm2", .size = "135M"}), "SmolLM2");
  EXPECT_EQ(FamilyOf({.name = "Meta Llama 3.1 8B Instruct", .basename = "Meta-Llama-3.1", .finetune = "Instruct"}), "Llama 3");
  EXPECT_EQ(FamilyOf({.architecture = "gemma3", .basename = "gemma-3", .has_template = false}), "Gemma 3");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .basename = "Qwen2.5-Coder", .size = "0.5B", .finetune = "Instruct-AWQ"}),
            "Qwen2.5 1.1");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .basename = "Qwen2.5", .size = "7B", .finetune = "Instruct"}), "Qwen2.5 1.05");
}

TEST(FamilySampling, AFamilyWithoutABasenameIsToldByItsName) {
  EXPECT_EQ(FamilyOf({.name = "SmolLM2 1.7B Instruct"}), "SmolLM2");
  EXPECT_EQ(FamilyOf({.name = "Llama-3.2-1B-Instruct"}), "Llama 3");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .name = "Qwen2.5 Coder 1.5B Instruct GGUF"}), "Qwen2.5 1.1");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .name = "qwen2.5-14b-instruct"}), "Qwen2.5 1.05");
  EXPECT_EQ(FamilyOf({.architecture = "qwen3", .name = "Qwen3 0.6B"}), "Qwen3");
}

TEST(FamilySampling, ABaseModelAndAnotherModelAreOfNoFamily) {
  EXPECT_EQ(FamilyOf({.name = "SmolLM2 135M", .has_template = false}), "");
  EXPECT_EQ(FamilyOf({.name = "Llama 3.2 1B"}), "");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .name = "Qwen2.5 1.5B"}), "");
  EXPECT_EQ(FamilyOf({.architecture = "qwen3", .name = "Qwen3 0.6B Base"}), "");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .name = "Qwen2.5 Math 1.5B Instruct"}), "");
  EXPECT_EQ(FamilyOf({.architecture = "qwen2", .name = "DeepSeek R1 Distill Qwen 1.5B"}), "");
  EXPECT_EQ(FamilyOf({.architecture = "qwen3", .name = "SmolLM2 135M Instruct"}), "") << "another architecture";
  EXPECT_EQ(FamilyOf({.name = "TinyLlama 1.1B Chat"}), "");
  EXPECT_EQ(FamilyOf({}), "");
}

TEST(FamilySampling, OfTwoRowsThatFitTheFirstCounts) {
  EXPECT_EQ(FamilyOf({.architecture = "qwen3", .name = "Qwen3 4B Instruct 2507"}), "Qwen3-2507");
  EXPECT_EQ(FamilyOf({.architecture = "qwen3", .name = "Qwen3 4B Instruct"}), "Qwen3");
}

TEST(FamilySampling, EveryRowIsTakenByTheSampler) {
  std::set<std::string> families;
  for (const FamilySampling& row : FamilySamplings()) {
    EXPECT_TRUE(families.insert(absl::StrCat(row.family, row.sizes)).second) << row.family;
    EXPECT_STRNE(row.source, "") << row.family;
    const SamplingOptions usual;
    Must(Sampler::Create({.temperature = row.temperature.value_or(usual.temperature),
                          .top_k = row.top_k.value_or(usual.top_k),
                          .top_p = row.top_p.value_or(usual.top_p),
                          .min_p = row.min_p.value_or(usual.min_p),
                          .repetition_penalty = row.repetition_penalty.value_or(usual.repetition_penalty)}));
  }
}

// "| Qwen3 | 0.6 | 20 | 0.95 | 0 | . | generation_config.json ... |"
std::string RowOfDocument(const FamilySampling& row) {
  const auto text = [](const auto& value) { return value.has_value() ? absl::StrCat(*value) : std::string("."); };
  return absl::StrCat("| ", row.family, *row.sizes == '\0' ? "" : ", ", row.sizes, " | ", text(row.temperature), " | ",
                      text(row.top_k), " | ", text(row.top_p), " | ", text(row.min_p), " | ", text(row.repetition_penalty), " | ",
                      row.source, " |\n");
}

TEST(FamilySampling, TheDocumentHasEveryRowInTheSameOrder) {
  std::string table;
  for (const FamilySampling& row : FamilySamplings()) table += RowOfDocument(row);
  const std::string document = Must(ReadTextFile(TESSERA_SOURCE_DIR "/docs/flags.md", 1 << 20));
  EXPECT_NE(document.find("|---|---|---|---|---|---|---|\n" + table + "\n"), std::string::npos) << table;
}

TEST(FamilySampling, TheModelsOfFetchModelAreOfTheirFamilies) {
  for (const auto& [name, family] : {std::pair("smollm2", "SmolLM2"), std::pair("gemma3", "Gemma 3")}) {
    const std::string path = RealModelPath(name);
    if (path.empty()) FAIL() << RealModelMissing(name);
    const FamilySampling* const found = FamilySamplingOf(*Must(GgufFile::Open(path)));
    ASSERT_NE(found, nullptr) << name;
    EXPECT_STREQ(found->family, family);
  }
}

}  // namespace
}  // namespace tessera
