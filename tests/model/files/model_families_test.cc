#include "tessera/model/files/internal/model_families.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

bool Works(const ModelFamily& family) { return family.missing[0] == '\0'; }

bool IsArchitecture(const ModelFamily& family) { return FindArchitecture(family.architecture).ok(); }

absl::Status Open(GgufBuilder builder) {
  const std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  return ReadModelConfig(*file).status();
}

// A header as a file of the family has it, without weights. REQUIRES: the family does not work.
GgufBuilder HeaderOf(const ModelFamily& family) {
  GgufBuilder builder;
  if (IsArchitecture(family)) builder = TinyModelBuilder({.architecture = family.architecture});
  else builder.String("general.architecture", family.architecture).Number(absl::StrCat(family.architecture, ".block_count"), 2u);
  if (family.key[0] != '\0') builder.Number(absl::StrCat(family.architecture, ".", family.key), 8u);
  return builder;
}

TEST(ModelFamilies, HeaderExample) {
  std::set<std::string> shown;
  const auto Show = [&](const char* name, const char* what) { shown.insert(absl::StrCat(name, ": ", what)); };
  for (const ModelFamily& family : ModelFamilies()) Show(family.name, family.missing[0] == '\0' ? "works" : family.missing);
  EXPECT_EQ(shown.count("Mixtral: experts"), 1u);
  EXPECT_EQ(shown.count("Qwen 3: works"), 1u);
}

TEST(ModelFamilies, EveryFamilyWorksOrNamesTheMissingPart) {
  for (const ModelFamily& family : ModelFamilies()) {
    SCOPED_TRACE(family.name);
    if (Works(family)) {
      EXPECT_EQ(Open(TinyModelBuilder({.architecture = family.architecture})), absl::OkStatus());
      continue;
    }
    const absl::Status status = Open(HeaderOf(family));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::EndsWith(status.message(), absl::StrCat("; not supported here: ", family.missing))) << status;
    EXPECT_EQ(status.message().find("tensor "), absl::string_view::npos) << status;
    EXPECT_TRUE(IsArchitecture(family) || absl::StrContains(status.message(), absl::StrCat("(", family.name, ")"))) << status;
  }
}

TEST(ModelFamilies, PartsThatOnlyTensorsShowHaveWords) {
  EXPECT_EQ(PartShownBy("blk.1.attn_qkv.weight"), "fused queries, keys and values");
  EXPECT_EQ(PartShownBy("blk.12.ffn_gate.0.weight"), "experts");
  EXPECT_EQ(PartShownBy("position_embd.weight"), "learnt positions");
  for (const char* other : {"attn_qkv.weight", "blk.attn_qkv.weight", "blk.x.attn_qkv.weight", "blk.0.position_embd.weight", "blk.", ""}) {
    EXPECT_EQ(PartShownBy(other), "") << other;
  }
}

TEST(ModelFamilies, MatchTheDocumentationInItsOrder) {
  std::ifstream page(std::string(TESSERA_SOURCE_DIR) + "/docs/models.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);) {
    if (absl::StartsWith(line, "| ") && absl::StrContains(line, "| `")) rows.push_back(line);
  }
  ASSERT_EQ(rows.size(), ModelFamilies().size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const ModelFamily& family = ModelFamilies()[i];
    const std::string key = family.key[0] == '\0' ? "" : absl::StrCat(" with `", family.architecture, ".", family.key, "`");
    EXPECT_EQ(rows[i], absl::StrCat("| ", family.name, " | `", family.architecture, "`", key, " | ",
                                    Works(family) ? "works" : absl::StrCat("not supported: ", family.missing), " |"));
  }
  EXPECT_GE(rows.size(), 40u);
}

TEST(ModelFamilies, EachIsNamedOnceAndEveryArchitectureThatRunsIsAmongThem) {
  std::set<std::string> names, running;
  for (const ModelFamily& family : ModelFamilies()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(!Works(family) || IsArchitecture(family)) << family.name;
    EXPECT_TRUE(Works(family) || !IsArchitecture(family) || family.key[0] != '\0') << family.name << " needs a key that tells it";
    if (Works(family)) running.insert(family.architecture);
  }
  EXPECT_EQ(running.size(), Architectures().size());
}

}  // namespace
}  // namespace tessera
