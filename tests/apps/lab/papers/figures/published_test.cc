// What papers say: whole tables with sources, which only what prints them may know.
#include "tessera/apps/lab/papers/figures/published.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

TEST(Published, HeaderExample) {
  std::set<std::string> ids;
  std::vector<PublishedFigure> figures(PublishedNpuFigures().begin(), PublishedNpuFigures().end());
  figures.insert(figures.end(), PublishedScalingFigures().begin(), PublishedScalingFigures().end());
  for (const PublishedFigure& figure : figures) {
    EXPECT_TRUE(ids.insert(figure.id).second) << figure.id << " twice";
    EXPECT_GT(figure.low, 0) << figure.id;
    EXPECT_LE(figure.low, figure.high) << figure.id;
    EXPECT_TRUE(absl::StartsWith(figure.source, "00")) << figure.id;
    EXPECT_EQ(figure.low < figure.high, figure.kind == PublishedFigure::Kind::kRange) << figure.id;
    EXPECT_TRUE(figure.use == PublishedFigure::Use::kCounted || *figure.reason != '\0') << figure.id;
  }
  for (const PublishedAccuracy& accuracy : PublishedBaseAccuracies()) {
    EXPECT_GT(accuracy.percent, 0) << accuracy.set;
    EXPECT_LT(accuracy.percent, 100) << accuracy.set;
    EXPECT_TRUE(absl::StartsWith(accuracy.source, "001")) << accuracy.set;
  }
  for (const PublishedAblation& row : PublishedAblations()) EXPECT_GT(row.npu, row.full) << row.shape;
  for (const PublishedAcceptance& row : PublishedAcceptances()) EXPECT_GT(row.qwen, row.llama) << row.task << " " << row.drafter;
  for (const PublishedFact& fact : PublishedSdnpuFacts()) EXPECT_TRUE(absl::StartsWith(fact.source, "00")) << fact.what;
  for (const PublishedOnemodelFigure& figure : PublishedOnemodelFigures()) {
    EXPECT_TRUE(ids.insert(figure.id).second) << figure.id << " twice";
    EXPECT_GT(figure.value, 0) << figure.id;
  }
}

// A figure that both kinds of tables have is the same in both.
TEST(Published, FiguresThatAreInTwoTablesAreTheSame) {
  const PublishedAblation& row = PublishedAblations()[0];
  const struct { const char* id; double value; } same[] = {{"000-ablation-npu", row.npu},       {"000-ablation-graph", row.npu_g},
                                                           {"000-ablation-drafts", row.npu_sd}, {"000-ablation-both", row.npu_g_sd},
                                                           {"000-ablation-ours", row.full}};
  int found = 0;
  for (const PublishedFigure& figure : PublishedNpuFigures()) {
    for (const auto& [id, value] : same) {
      if (absl::string_view(figure.id) != id) continue;
      EXPECT_EQ(figure.low, value) << id;
      ++found;
    }
  }
  EXPECT_EQ(found, 5);
}

// What the one-for-all paper's tables 6 and 7 say of one quantity agrees with itself as far as it does.
TEST(Published, UseCasesAndBranchesAgreeWithEachOther) {
  const absl::Span<const char* const> tasks = PublishedBranchTasks();
  int64_t both = 0;
  for (const PublishedUseCase& use : PublishedUseCases()) {
    EXPECT_NEAR(use.plain * use.plain_rate, 1000, 5) << use.name;
    EXPECT_NEAR(use.ds2d * use.ds2d_rate, 1000, 5) << use.name;
    both += std::count(tasks.begin(), tasks.end(), absl::string_view(use.name));
  }
  EXPECT_EQ(both, 7) << "table 7 has one use case that table 6 has not, and the other way round";
  EXPECT_EQ(tasks.size(), 8u);
  for (const PublishedBranches& row : PublishedBranchTable()) {
    for (size_t i = 0; i < 8; ++i) {
      const double milliseconds = 1e3 * row.tokens_per_pass[i] / row.tokens_per_second[i];
      EXPECT_GT(milliseconds, 41) << row.configuration << ", " << i;
      EXPECT_LT(milliseconds, 48) << row.configuration << ", " << i;
    }
  }
}

// No figure may become a parameter.
TEST(Published, OnlyPrintingSourcesKnowThePublishedFigures) {
  const std::filesystem::path root = TESSERA_SOURCE_DIR;
  const std::string header = absl::StrCat("figures/", "published.h\"");   // Not in this text.
  std::set<std::string> readers;
  for (const char* const folder : {"apps", "base", "model", "npu", "quant", "runtime", "scripts", "spec", "storage", "tensor"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h") continue;
      const std::string text = Must(ReadFileToString(entry.path().string(), int64_t{1} << 24));
      if (absl::StrContains(text, header)) readers.insert(entry.path().filename().string());
    }
  }
  EXPECT_EQ(readers, (std::set<std::string>{"compared_figure.cc", "lever_compared.cc", "npu_comparison.cc", "onemodel_figures.cc",
                                            "onemodel_tables.cc", "published.cc", "published_lever.cc", "published_onemodel.cc",
                                            "published_scaling.cc", "scaling_figures.cc", "sdnpu_report_json.cc", "sdnpu_tables.cc"}));
}

}  // namespace
}  // namespace tessera
