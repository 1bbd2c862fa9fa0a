// Runs of DS2D: what benches wrote is read, rows of configurations are the paper's, and what is no run is refused with what was found.
#include "tessera/apps/reproduce/ds2d_runs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kLine[] =
    R"({"model": "m/s.gguf", "threads": 2, "tree": "ds2d:3,2", "categories": [{"category": "rag", "texts": 4, "changed": 0,)"
    R"( "plain": {"tokens": 9}, "drafted": {"tokens": 310, "passes": 200, "rows": 6000}}], "texts": []})";

TEST(Ds2dRuns, HeaderExample) {
  const TemporaryFolder folder;
  const std::string other = absl::StrReplaceAll(kLine, {{"3,2", "auto"}});
  Must(WriteFileAtomically(folder.Path("ds2d.jsonl"), absl::StrCat(kLine, "\n\n", other, "\n")));
  const std::vector<Ds2dRun> runs = Must(ReadDs2dRuns(folder.Path("ds2d.jsonl")));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].model, "s.gguf");
  EXPECT_EQ(runs[0].configuration, "3,2");
  EXPECT_EQ(runs[1].configuration, "auto");
  ASSERT_EQ(runs[0].tasks.size(), 1u);
  EXPECT_EQ(runs[0].tasks[0].name, "rag");
  EXPECT_EQ(runs[0].tasks[0].texts, 4);
  EXPECT_DOUBLE_EQ(runs[0].tasks[0].tokens_per_pass(), 1.55);
}

// Section 3.5: a configuration (3,2) has 9 drafts, and so 10 tokens and 20 forecasts.
TEST(Ds2dRuns, RowsOfConfigurationsAreThePapers) {
  const struct { const char* configuration; int rows; } cases[] = {
      {"3,2", 30}, {"15", 32}, {"1,8", 30}, {"2,3", 27}, {"4,1", 27},
      {"1", 4}, {"1,1,5", 32}, {"1,2,2", 32}, {"2,1,1", 28}, {"1,1,1,2", 30}};
  for (const auto& [configuration, rows] : cases) EXPECT_EQ(Ds2dRows(Must(BranchesOf(configuration))), rows) << configuration;
}

TEST(Ds2dRuns, ConfigurationsThatAreNoneAreRefused) {
  for (const char* const bad : {"", "0", "3,", ",2", "3;2", "-1", "65", "3,2,x", "9,9", "1,1,1,1,1,1,1,1,1", "1e1", "99999999999"}) {
    const absl::Status status = BranchesOf(bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_TRUE(absl::StartsWith(status.message(), absl::StrCat("configuration: found \"", bad, "\", expected "))) << status.message();
  }
}

TEST(Ds2dRuns, LinesThatAreNoRunAreRefusedWithLineAndField) {
  const struct { const char *part, *by, *said; } cases[] = {
      {"\"tree\"", "\"trees\"", "a.jsonl, line 1: tree: found nothing"},
      {"ds2d:3,2", "lever", "a.jsonl, line 1: tree: found \"lever\", expected ds2d:3,2"},
      {"ds2d:3,2", "ds2d:3,x", "a.jsonl, line 1: tree: found \"ds2d:3,x\", expected numbers of 1 to 64"},
      {"\"m/s.gguf\"", "7", "a.jsonl, line 1: model: found 7"},
      {"m/s.gguf", "\\u001b[2J", "a.jsonl, line 1: model: found"},
      {"\"rag\"", "\"\"", "a.jsonl, line 1: categories[0].category: found \"\""},
      {"\"texts\": 4", "\"texts\": 0", "a.jsonl, line 1: categories[0].texts: found 0"},
      {"310", "199", "a.jsonl, line 1: categories[0].drafted.tokens: found 199"},
      {"200", "0", "a.jsonl, line 1: categories[0].drafted.passes: found 0"},
      {"310", "3.5", "a.jsonl, line 1: categories[0].drafted.tokens: found 3.5"},
      {"\"drafted\"", "\"dropped\"", "a.jsonl, line 1: categories[0].drafted: found nothing"}};
  for (const auto& [part, by, said] : cases) {
    const std::string changed = absl::StrReplaceAll(kLine, {{part, by}});
    ASSERT_NE(changed, kLine) << part;
    const absl::Status status = ParseDs2dRuns(changed, "a.jsonl").status();
    EXPECT_TRUE(absl::StrContains(status.ToString(), said)) << status << "\n  expected " << said;
  }
}

TEST(Ds2dRuns, NothingIsThereTwiceOrNotAtAll) {
  EXPECT_TRUE(absl::StrContains(ParseDs2dRuns(absl::StrCat(kLine, "\n", kLine), "a").status().message(),
                                "a, line 2: found configuration 3,2 of s.gguf again"));
  EXPECT_TRUE(absl::StrContains(ParseDs2dRuns("\n \n", "a").status().message(), "a: found no run"));
  const std::string none = absl::StrReplaceAll(kLine, {{R"({"category": "rag", "texts": 4, "changed": 0, "plain": {"tokens": 9}, )"
                                                       R"("drafted": {"tokens": 310, "passes": 200, "rows": 6000}})", ""}});
  EXPECT_TRUE(absl::StrContains(ParseDs2dRuns(none, "a").status().message(), "categories: found no category"));
  const std::string twice = absl::StrReplaceAll(
      kLine, {{"}}], \"texts\"", R"(}}, {"category": "rag", "texts": 1, "drafted": {"tokens": 2, "passes": 1}}], "texts")"}});
  EXPECT_TRUE(absl::StrContains(ParseDs2dRuns(twice, "a").status().message(), "expected each category once"));
}

}  // namespace
}  // namespace tessera
