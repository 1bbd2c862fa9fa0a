// tessera_reproduce npu: what it prints, that it prints the same again, and what it draws.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/base/table.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(ReproduceNpu, PrintsFiguresBesidePredictions) {
  const Ended ended = RunProgram("tessera_reproduce npu", {"--table=all"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  for (const char* const said : {"001-softmax-float", "000-verify-32", "003-memory-base", "004-step-8", "do not count", "median error",
                                 "parameters as committed in 1d42eec, before the first prediction\n"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, said)) << said;
  }
  EXPECT_EQ(RunProgram("tessera_reproduce npu", {"--table=all"}).output, ended.output);
}

// The summary comes first, then the names of tables; a table by name. No line is longer than a wide terminal has columns.
TEST(ReproduceNpu, PrintsASummaryAndTablesByName) {
  const Ended summary = RunProgram("tessera_reproduce npu", {});
  ASSERT_EQ(summary.code, 0) << summary.errors;
  EXPECT_TRUE(absl::StartsWith(summary.output, "How near\n\n")) << summary.output;
  EXPECT_FALSE(absl::StrContains(summary.output, "001-softmax-float"));
  for (const std::string name : {"figures", "not_counted", "asked", "sensitivity", "held_attention", "calibration"}) {
    EXPECT_TRUE(absl::StrContains(summary.output, "\n" + name + " ")) << name;
    const Ended table = RunProgram("tessera_reproduce npu", {"--table=" + name});
    ASSERT_EQ(table.code, 0) << table.errors;
    EXPECT_FALSE(absl::StrContains(table.output, "How near\n")) << name;
  }
  const std::vector<std::string> lines = absl::StrSplit(RunProgram("tessera_reproduce npu", {"--table=all"}).output, '\n');
  for (const std::string& line : lines) {
    EXPECT_LE(ShownWidth(line), 120u) << line;
  }
  const Ended wrong = RunProgram("tessera_reproduce npu", {"--table=figure"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.output, "");
  const char* const names = "--table: found \"figure\", expected one of summary, figures, not_counted, asked, ";
  EXPECT_TRUE(absl::StrContains(wrong.errors, names)) << wrong.errors;
  EXPECT_EQ(RunProgram("tessera_reproduce npu", {"--table=figures", "--json"}).code, 2) << "JSON has all tables";
}

TEST(ReproduceNpu, WritesEveryFigureAsJsonAndDrawsThePlot) {
  const TemporaryFolder folder;
  const std::string plot = folder.Path("npu.svg");
  const Ended ended = RunProgram("tessera_reproduce npu", {"--json", "--plot=" + plot});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue json = Json(ended.output);
  EXPECT_EQ(json.Keys(),
            (std::vector<std::string>{"parameters_commit", "figures", "sensitivity", "held_attention", "summary", "calibration"}));
  const JsonValue held = Must(json.Object("held_attention"));
  EXPECT_EQ(held.Keys(), (std::vector<std::string>{"question", "moves", "figures", "within", "median_error", "without_near_calibration"}));
  EXPECT_EQ(Must(held.Array("figures")).size(), Must(Must(held.Object("moves")).Int("moved")));
  const JsonValue figures = Must(json.Array("figures"));
  EXPECT_GT(figures.size(), 30);
  for (int64_t i = 0; i < figures.size(); ++i) {
    EXPECT_TRUE(figures[i].Has("published_low") && figures[i].Has("error") && figures[i].Has("counted")) << i;
  }
  EXPECT_TRUE(absl::StartsWith(Must(ReadFileToString(plot, 1 << 20)), "<svg "));
}

TEST(ReproduceNpu, RefusesAPlotThatCannotBeWritten) {
  const Ended ended = RunProgram("tessera_reproduce npu", {"--plot=/nowhere/npu.svg"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "");
  EXPECT_TRUE(absl::StrContains(ended.errors, "--plot: /nowhere/npu.svg")) << ended.errors;
}

}  // namespace
}  // namespace tessera
