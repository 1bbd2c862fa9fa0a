// Accuracies from tessera_scale: both forms of lines are read, and what is none is refused with line and field.
#include "tessera/apps/lab/papers/scaling/scaling_curves.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/lab/scale/judging/judge_report.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kJudged[] =
    R"({"task":"gsm8k","split":"all","scorer":"arithmetic","figures":[{"samples":4,"way":"majority",)"
    R"("right":{"mean":0.46,"low":0.43,"high":0.5},"gain":{"mean":0.09,"low":0.07,"high":0.1},"until_decided":3.3}]})";
constexpr char kGridLine[] =
    R"({"task":"gsm8k","method":"best_of_n","scorer":"brevity","samples":8,"questions":40,)"
    R"("right":{"mean":0.3,"low":0.2,"high":0.4},"gain":{"mean":-0.1,"low":-0.2,"high":0}})";

TEST(ScalingCurves, HeaderExample) {
  const TemporaryFolder folder;
  Must(WriteFileAtomically(folder.Path("curves.jsonl"), absl::StrCat(kJudged, "\n\n", kGridLine, "\n")));
  const std::vector<AccuracyCurve> curves = Must(ReadAccuracyCurves(folder.Path("curves.jsonl")));
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].name(), "gsm8k, scorer arithmetic");
  ASSERT_EQ(curves[0].points.size(), 1u);
  EXPECT_EQ(curves[0].points[0].way, "majority");
  EXPECT_EQ(curves[0].points[0].samples, 4);
  EXPECT_EQ(curves[0].points[0].right.mean, 0.46);
  EXPECT_EQ(curves[0].points[0].gain.high, 0.1);
  EXPECT_EQ(curves[1].name(), "gsm8k");
  EXPECT_EQ(curves[1].points[0].way, "best_of_n by brevity");
  EXPECT_EQ(curves[1].points[0].gain.mean, -0.1);
}

TEST(ScalingCurves, TheJsonOfJudgeIsRead) {
  const JudgeReport report = {.task = "math500", .questions = 3, .samples_each = 2, .scorer = "random",
                              .figures = {{.method = "one sample", .samples = 1, .accuracy = {0.5, 0.25, 1}},
                                          {.method = "best of N", .samples = 2, .accuracy = {0.75, 0.5, 1}, .gain = {0.25, 0, 0.5}}}};
  const std::vector<AccuracyCurve> curves = Must(ParseAccuracyCurves(JudgeJson(report), "judged"));
  ASSERT_EQ(curves.size(), 1u);
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[1].way, "best of N");
  EXPECT_EQ(curves[0].points[1].gain.mean, 0.25);
}

TEST(ScalingCurves, PointsOfATaskMakeACurve) {
  const std::string other = absl::StrReplaceAll(kGridLine, {{"gsm8k", "math500"}});
  const std::string named = absl::StrReplaceAll(kGridLine, {{"\"task\"", "\"model\":\"m.gguf\",\"task\""}});
  const std::vector<AccuracyCurve> curves =
      Must(ParseAccuracyCurves(absl::StrCat(kGridLine, "\n", other, "\n", named, "\n", kGridLine), "grid"));
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[1].name(), "math500");
  EXPECT_EQ(curves[2].name(), "m.gguf, gsm8k");
}

TEST(ScalingCurves, LinesThatAreNoneAreRefusedWithLineAndField) {
  const struct { const char *line, *part, *by, *said; } cases[] = {
      {kJudged, "\"task\"", "\"tasks\"", "a.jsonl, line 1: task: found nothing"},
      {kJudged, "gsm8k", "\\u001b[2J", "a.jsonl, line 1: task: found"},
      {kJudged, "\"samples\":4", "\"samples\":0", "a.jsonl, line 1: figures[0].samples: found 0"},
      {kJudged, "\"samples\":4", "\"samples\":1025", "a.jsonl, line 1: figures[0].samples: found 1025"},
      {kJudged, "0.46", "1.5", "a.jsonl, line 1: figures[0].right.mean: found 1.5, expected 0 to 1"},
      {kJudged, "0.07", "-1.5", "a.jsonl, line 1: figures[0].gain.low: found -1.5, expected -1 to 1"},
      {kJudged, "\"gain\"", "\"loss\"", "a.jsonl, line 1: figures[0].gain: found nothing"},
      {kGridLine, "\"method\"", "\"way\"", "a.jsonl, line 1: method: found nothing"},
      {kGridLine, "\"samples\":8", "\"samples\":\"8\"", "a.jsonl, line 1: samples: found"}};
  for (const auto& [line, part, by, said] : cases) {
    const std::string changed = absl::StrReplaceAll(line, {{part, by}});
    ASSERT_NE(changed, line) << part;
    const absl::Status status = ParseAccuracyCurves(changed, "a.jsonl").status();
    EXPECT_TRUE(absl::StrContains(status.ToString(), said)) << status << "\n  expected " << said;
  }
  EXPECT_TRUE(absl::StrContains(ParseAccuracyCurves("\n \n", "a").status().message(), "a: found no curve"));
  EXPECT_TRUE(absl::StrContains(ParseAccuracyCurves(R"({"task":"t","scorer":"s","figures":[]})", "a").status().message(),
                                "figures: found no figure"));
  EXPECT_FALSE(ParseAccuracyCurves("[1]", "a").ok());
}

TEST(ScalingCurves, AFileThatIsNotThereIsAnError) { EXPECT_FALSE(ReadAccuracyCurves("/nowhere/curves.jsonl").ok()); }

}  // namespace
}  // namespace tessera
