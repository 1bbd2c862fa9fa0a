// tessera_reproduce npu: what it prints, that it prints the same again, and what it draws.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/file.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(ReproduceNpu, PrintsFiguresBesidePredictions) {
  const Ended ended = RunProgram("tessera_reproduce npu", {});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  for (const char* const said : {"001-softmax-float", "000-verify-32", "003-memory-base", "004-step-8", "Not counted:", "median error",
                                 "parameters as committed in 1d42eec, before the first prediction\n"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, said)) << said;
  }
  EXPECT_EQ(RunProgram("tessera_reproduce npu", {}).output, ended.output);
}

TEST(ReproduceNpu, WritesAllOfItAsJsonAndDrawsIt) {
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
