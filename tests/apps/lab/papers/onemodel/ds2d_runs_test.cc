// Runs of DS2D: what benches wrote is read, rows of configurations are the paper's, and what is no run is refused with what was found.
#include "tessera/apps/lab/papers/onemodel/ds2d_runs.h"

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

std::string WithForecasts(const std::string& path) {
  return absl::StrReplaceAll(kLine, {{"\"threads\"", absl::StrCat("\"draft_model\": \"", path, "\", \"threads\"")}});
}

TEST(Ds2dRuns, HeaderExample) {
  const TemporaryFolder folder;
  const std::string other = absl::StrReplaceAll(WithForecasts("x/ds2d.safetensors"), {{"3,2", "auto"}});
  Must(WriteFileAtomically(folder.Path("ds2d.jsonl"), absl::StrCat(kLine, "\n\n", other, "\n")));
  const std::vector<Ds2dRun> runs = Must(ReadDs2dRuns(folder.Path("ds2d.jsonl")));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].model, "s.gguf");
  EXPECT_EQ(runs[0].configuration, "3,2");
  EXPECT_EQ(runs[0].of(), "s.gguf");
  EXPECT_EQ(runs[1].configuration, "auto");
  EXPECT_EQ(runs[1].of(), "s.gguf with ds2d.safetensors");
  ASSERT_EQ(runs[0].tasks.size(), 1u);
  EXPECT_EQ(runs[0].tasks[0].name, "rag");
  EXPECT_EQ(runs[0].tasks[0].texts, 4);
  EXPECT_DOUBLE_EQ(runs[0].tasks[0].tokens_per_pass(), 1.55);
}

// More rows than one graph has are a run of another machine; more than two graphs have are none.
TEST(Ds2dRuns, ConfigurationsThatAreNoneAreRefused) {
  const auto read = [](const char* configuration) {
    return ParseDs2dRuns(absl::StrReplaceAll(kLine, {{"ds2d:3,2", absl::StrCat("ds2d:", configuration)}}), "a").status();
  };
  for (const char* const good : {"15", "1,8", "1,1,1,2", "31", "auto"}) EXPECT_EQ(read(good), absl::OkStatus()) << good;
  for (const char* const bad : {"", "0", "3,", ",2", "3;2", "-1", "65", "3,2,x", "9,9", "1,1,1,1,1,1,1,1,1", "1e1", "99999999999"}) {
    const std::string said = absl::StrCat("a, line 1: tree: found \"ds2d:", bad, "\", expected a configuration of DS2D; branches: found \"",
                                          bad, "\", expected ");
    EXPECT_TRUE(absl::StartsWith(read(bad).message(), said)) << read(bad);
  }
}

TEST(Ds2dRuns, LinesThatAreNoRunAreRefusedWithLineAndField) {
  const struct { const char *part, *by, *said; } cases[] = {
      {"\"tree\"", "\"trees\"", "a.jsonl, line 1: tree: found nothing"},
      {"ds2d:3,2", "lever", "a.jsonl, line 1: tree: found \"lever\", expected ds2d:3,2"},
      {"ds2d:3,2", "ds2d:3,x", "a.jsonl, line 1: tree: found \"ds2d:3,x\", expected a configuration of DS2D"},
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
  const std::string seed = WithForecasts("ds2d.untrained.safetensors");
  EXPECT_EQ(Must(ParseDs2dRuns(absl::StrCat(kLine, "\n", seed), "a")).size(), 2u) << "other forecasts of the same model";
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
