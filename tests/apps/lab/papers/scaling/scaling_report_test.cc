// Test-time scaling on modeled phones: what the report has, the paper's figures beside it, break-even, and what planted numbers do.
#include "tessera/apps/lab/papers/scaling/scaling_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/scaling/scaling_figures.h"
#include "tessera/apps/lab/papers/scaling/scaling_tables.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

std::vector<AccuracyCurve> MadeUpCurves() {
  return {{.model = "m.gguf",
           .task = "gsm8k",
           .scorer = "brevity",
           .points = {{1, "one sample", {0.3, 0.2, 0.4}, {}},
                      {8, "majority", {0.4, 0.3, 0.5}, {0.1, 0.05, 0.15}},
                      {16, "best of N", {0.25, 0.2, 0.3}, {-0.05, -0.1, 0}},
                      {64, "majority", {0.5, 0.4, 0.6}, {0.2, 0.1, 0.3}}}}};
}

const ScalingReport& Report() {
  static const ScalingReport report = Must(MakeScalingReport(Profiles(), MadeUpCurves()));
  return report;
}

const ScalingPair& PairOf(const ScalingReport& report, const std::string& phone, const std::string& small, const std::string& large) {
  for (const ScalingPair& pair : report.pairs) {
    if (pair.phone == phone && pair.small == small && pair.large == large) return pair;
  }
  ADD_FAILURE() << phone << " " << small << " " << large;
  return report.pairs.front();
}

PaperOrder OrderOf(const ScalingReport& report, const std::string& claim, const std::string& where) {
  for (PaperOrder& order : ScalingOrders(report)) {
    if (absl::StrContains(order.claim, claim) && absl::StrContains(order.where, where)) return order;
  }
  ADD_FAILURE() << claim << " " << where;
  return {};
}

TEST(ScalingReport, HeaderExample) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  const ScalingReport report = Must(MakeScalingReport(profiles, /*curves=*/{}));
  const std::string text = absl::StrReplaceAll(Must(ScalingReportText(report, "all")), {{"\n", " "}});   // Cells go over lines.
  for (const char* const said : {"What the paper's text has in numbers", "Step latency over the batch", "figure 11", "The head's share",
                                 "figure 8", "figure 17", "figure 12", "Memory and sessions", "figure 10 without accuracy", "Break-even",
                                 "Skywork-1.5B-PRM", "What is not addressed", "missing: no --curves=FILE"}) {
    EXPECT_TRUE(absl::StrContains(text, said)) << said;
  }
  for (const PaperOrder& order : report.orders) EXPECT_EQ(order.why.empty(), order.holds) << order.claim << ", " << order.where;
}

TEST(ScalingReport, StepsCoverThePapersPhonesAndBatches) {
  ASSERT_EQ(Report().steps.size(), std::size(kScalingRuns));
  for (size_t i = 0; i < Report().steps.size(); ++i) {
    const ScalingSteps& steps = Report().steps[i];
    EXPECT_EQ(steps.model.phone, kScalingRuns[i].phone);
    EXPECT_EQ(steps.model.shape, kScalingRuns[i].shape);
    ASSERT_EQ(steps.passes.size(), std::size(kScalingRows));
    for (size_t j = 0; j < steps.passes.size(); ++j) {
      EXPECT_NEAR(steps.TokensPerSecond(j) * steps.passes[j].seconds, kScalingRows[j], 1e-9);
      EXPECT_GT(steps.HeadShare(j), 0);
      EXPECT_LT(steps.HeadShare(j), 1);
    }
  }
  EXPECT_EQ(Report().prompts.size(), 2 * std::size(kScalingRows));
  EXPECT_EQ(Report().attention.size(), std::size(kScalingRows));
  EXPECT_EQ(Report().powers.size(), 2u);
}

TEST(ScalingReport, SamplesAreBesideTheLargerModelOfTheirFamilyOnBothPhonesOfFigure10) {
  std::set<std::string> seen;
  for (const ScalingPair& pair : Report().pairs) {
    EXPECT_TRUE(seen.insert(absl::StrCat(pair.phone, pair.small, pair.large)).second);
    ASSERT_EQ(pair.answers.size(), static_cast<size_t>(kMostScalingSamples));
    ASSERT_EQ(pair.whole.size(), pair.answers.size());
    for (int samples = 1; samples <= kMostScalingSamples; ++samples) {
      const size_t i = static_cast<size_t>(samples) - 1;
      EXPECT_GT(pair.whole[i].seconds, pair.answers[i].seconds) << "a prompt and a scorer take time";
      EXPECT_GT(pair.WholeRatio(samples), pair.TimeRatio(samples)) << "the larger model has no scorer";
      if (i > 0) {
        EXPECT_GE(pair.answers[i].seconds, pair.answers[i - 1].seconds) << samples;
      }
    }
  }
  EXPECT_EQ(seen.size(), 2 * 4u);
}

// The share of the gap is 0 for one sample, and 100 % where the time of the larger model is reached.
TEST(ScalingReport, BreakEvenIsOnTheLineBetweenOneSampleOfEach) {
  for (const ScalingPair& pair : Report().pairs) {
    EXPECT_EQ(pair.GapShare(1), 0);
    for (int samples = 1; samples <= kMostScalingSamples; ++samples) {
      const double share = *pair.GapShare(samples), one = pair.TimeRatio(1);
      EXPECT_NEAR(one + share * (1 - one), pair.TimeRatio(samples), 1e-9) << samples;
      EXPECT_EQ(share <= 1 + 1e-12, samples <= pair.MostSamples()) << pair.small << " " << samples;
    }
  }
  ScalingPair same = Report().pairs[0];
  same.large_answer = same.answers[0];
  EXPECT_FALSE(same.GapShare(8).has_value()) << "the larger model takes no longer";
  same.large_answer.seconds /= 2;
  EXPECT_EQ(same.MostSamples(), 0);
}

TEST(ScalingReport, EachPredictionIsThereOnceAndHasAFigure) {
  std::set<std::string> ids, used;
  for (const Prediction& prediction : Report().predictions) EXPECT_TRUE(ids.insert(prediction.id).second) << prediction.id;
  for (const ComparedFigure& figure : ScalingFigures(Report())) {
    ASSERT_TRUE(figure.prediction.has_value()) << figure.id;
    used.insert(figure.prediction->id);
    EXPECT_LE(figure.prediction->low, figure.prediction->high) << figure.id;
    EXPECT_FALSE(figure.prediction->asked.empty()) << figure.id;
    EXPECT_TRUE(figure.counted || !figure.reason.empty()) << figure.id;
    EXPECT_TRUE(absl::StartsWith(figure.source, "001, ")) << figure.id;
  }
  EXPECT_EQ(used, ids);
  EXPECT_EQ(used.size(), 1 + PublishedScalingFigures().size());
}

// Powers of the parts were guessed by what the paper says of the whole phone.
TEST(ScalingReport, PowerIsShownAndNotCounted) {
  int powers = 0;
  for (const ComparedFigure& figure : ScalingFigures(Report())) {
    if (figure.unit == "W") ++powers;
    EXPECT_EQ(figure.counted, figure.unit != "W") << figure.id;
  }
  EXPECT_EQ(powers, 2);
  EXPECT_EQ(CountFigures(ScalingFigures(Report())).counted, 5);
}

// Nothing of it is fitted: recipe 001's bytes, a cache of 16 bits, and rows of 512.
TEST(ScalingReport, MemoryIsNearThePapers) {
  for (const ComparedFigure& figure : ScalingFigures(Report())) {
    if (!absl::StrContains(figure.id, "memory")) continue;
    EXPECT_LT(std::abs(*figure.error), 0.05) << figure.id;
  }
}

TEST(ScalingReport, AWrongCostShows) {
  const ScalingReport wrong = Must(MakeScalingReport(Times(Profiles(), "cpu_products_per_second", 0.5), {}));
  const auto& right_steps = Report().StepsOf("8gen3", "qwen2.5-1.5b");
  EXPECT_GT(wrong.StepsOf("8gen3", "qwen2.5-1.5b").HeadShare(4), 1.3 * right_steps.HeadShare(4));
  EXPECT_GT(PairOf(wrong, "8gen3", "qwen2.5-1.5b", "qwen2.5-3b").TimeRatio(16),
            1.1 * PairOf(Report(), "8gen3", "qwen2.5-1.5b", "qwen2.5-3b").TimeRatio(16));
  EXPECT_EQ(ScalingFigures(wrong)[1].prediction->low, ScalingFigures(Report())[1].prediction->low) << "memory";
}

TEST(ScalingReport, AssumptionsMoveTheirOwnRatios) {
  const std::vector<ScalingOtherwise>& otherwise = Report().otherwise;
  ASSERT_GE(otherwise.size(), 6u);
  for (size_t i = 0; i < Report().pairs.size(); ++i) {
    EXPECT_NEAR(otherwise[0].ratios[i], Report().pairs[i].TimeRatio(16), 1e-12);
    EXPECT_LT(otherwise[1].ratios[i], otherwise[2].ratios[i]) << "shorter answers see fewer positions of others";
    EXPECT_LT(otherwise[3].ratios[i], otherwise[0].ratios[i]) << "own positions alone";
    EXPECT_GT(otherwise[4].ratios[i], otherwise[0].ratios[i]) << "a slower head";
    EXPECT_LE(otherwise[5].ratios[i], otherwise[0].ratios[i]) << "a faster head";
  }
}

TEST(ScalingReport, ASetWithoutThePapersPhonesIsRefused) {
  for (const char* const phone : {"8gen2", "8gen3", "8elite"}) {
    ProfileSet profiles = Profiles();
    profiles.erase(phone);
    EXPECT_TRUE(absl::IsNotFound(MakeScalingReport(profiles, {}).status())) << phone;
  }
}

TEST(ScalingFigures, HeaderExample) {
  const std::vector<BreakEven> all = BreakEvens(Report());
  ASSERT_EQ(all.size(), 2 * PublishedBaseAccuracies().size()) << "Llama 3.2 1B on two phones";
  for (const BreakEven& one : all) {
    EXPECT_EQ(one.pair->small, "llama-3.2-1b");
    ASSERT_EQ(one.accuracies.size(), std::size(kScalingRows));
    const std::string base = absl::StrCat(one.one_sample);
    EXPECT_EQ(one.accuracies[0], absl::StrCat(base, " + 0.000 x (A - ", base, ")"));
    EXPECT_NE(one.accuracies[4], one.accuracies[0]);
  }
}

// A gain is worth so large a gap as it bridges at its time.
TEST(ScalingFigures, TheLargestGapIsTheGainByTheShare) {
  const ScalingPair& pair = PairOf(Report(), "8gen3", "qwen2.5-1.5b", "qwen2.5-3b");
  const auto gap = [&](int samples, double gain) { return LargestGap({.samples = samples, .gain = {gain, gain, gain}}, pair); };
  EXPECT_EQ(gap(1, 0), "-") << "one sample gains nothing";
  EXPECT_EQ(gap(kMostScalingSamples + 1, 0.1), "-") << "not modeled";
  EXPECT_EQ(gap(8, -0.1), "none");
  EXPECT_EQ(gap(8, 0), "none");
  EXPECT_EQ(gap(8, 1), "any");
  EXPECT_NEAR(std::stod(gap(16, 0.05)) * *pair.GapShare(16), 5, 0.05);
  ScalingPair same = pair;
  same.large_answer = same.answers[0];
  EXPECT_EQ(LargestGap({.samples = 8, .gain = {0.1, 0.1, 0.1}}, same), "-");
}

TEST(ScalingTables, HeaderExample) {
  std::set<std::string> titles;
  const std::string text = absl::StrReplaceAll(Must(ScalingReportText(Report(), "all")), {{"\n", " "}});
  for (const ReportTable& table : ScalingTables(Report())) {
    EXPECT_TRUE(titles.insert(table.title).second) << table.title;
    EXPECT_TRUE(absl::StrContains(text, table.title)) << table.title;
    EXPECT_FALSE(table.rows.empty()) << table.title;
    EXPECT_LE(table.texts, static_cast<int>(table.columns.size())) << table.title;
    for (const std::vector<std::string>& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
    for (const std::string& note : table.notes) EXPECT_TRUE(absl::EndsWith(note, ".")) << note;
  }
  for (const char* said : {"1056", "2090", "4.3", "15.9", "32.6"}) EXPECT_TRUE(absl::StrContains(text, said)) << said;
}

TEST(ScalingTables, CurvesAreMarkedAsNotThePapers) {
  EXPECT_EQ(std::count_if(Report().curves.begin(), Report().curves.end(), [](const auto& curve) { return curve.points.empty(); }), 0);
  for (const ReportTable& table : ScalingTables(Report())) {
    if (!absl::StrContains(table.title, "m.gguf")) continue;
    EXPECT_EQ(table.title, "Accuracy by m.gguf, gsm8k, scorer brevity: judged here, and not the paper's");
    ASSERT_EQ(table.rows.size(), 4u);
    EXPECT_EQ(table.rows[1][0], "majority");
    EXPECT_EQ(table.rows[1][3], "10.0");
    EXPECT_EQ(table.rows[2][5], "none");
    EXPECT_EQ(table.rows[3][5], "-");
    return;
  }
  ADD_FAILURE() << "no table of the curve";
}

TEST(ScalingReport, JsonHasTheContentsOfTheTables) {
  const JsonValue json = Must(JsonValue::Parse(ScalingReportJson(Report()), "report"));
  EXPECT_EQ(Must(json.Array("figures")).size(), static_cast<int64_t>(ScalingFigures(Report()).size()));
  EXPECT_EQ(Must(json.Array("steps")).size(), static_cast<int64_t>(std::size(kScalingRuns)));
  EXPECT_EQ(Must(json.Array("pairs")).size(), static_cast<int64_t>(Report().pairs.size()));
  EXPECT_EQ(Must(json.Array("orders")).size(), static_cast<int64_t>(Report().orders.size()));
  EXPECT_EQ(Must(json.Array("not_addressed")).size(), static_cast<int64_t>(std::size(kScalingNotAddressed)));
  EXPECT_EQ(Must(json.Array("break_even")).size(), 4);
  const JsonValue curves = Must(json.Array("curves"));
  ASSERT_EQ(curves.size(), 1);
  EXPECT_FALSE(Must(curves[0].Bool("of_the_paper")));
  EXPECT_EQ(Must(json.Ints("rows")), (std::vector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(Must(Must(json.Object("summary")).Int("counted")), 5);
}

TEST(ScalingReport, APictureHasThreePairsAndTheLargerModel) {
  const std::string picture = ScalingReportSvg(Report());
  EXPECT_TRUE(absl::StartsWith(picture, "<svg "));
  for (const char* const said : {"qwen2.5-1.5b beside qwen2.5-3b", "qwen2.5-3b beside qwen2.5-7b", "llama-3.2-1b beside llama-3.2-3b",
                                 "one sample of the larger"}) {
    EXPECT_TRUE(absl::StrContains(picture, said)) << said;
  }
}

TEST(ScalingOrders, PlantedStepsBreakTheirOrders) {
  ScalingReport report = Report();
  ScalingSteps& steps = report.steps[2];
  const std::string where = absl::StrCat(steps.model.phone, ", ", steps.model.shape);
  EXPECT_TRUE(OrderOf(report, "throughput grows", where).holds);
  EXPECT_FALSE(OrderOf(report, "close to half", where).holds);
  steps.passes[4].busy[static_cast<size_t>(Bound::kCpu)] = 0.5 * steps.passes[4].seconds;
  EXPECT_TRUE(OrderOf(report, "close to half", where).holds);
  steps.passes[4].operators["attn_q.weight"].busy[static_cast<size_t>(Bound::kMatrix)] *= 2;
  EXPECT_FALSE(OrderOf(report, "matrix unit's time", where).holds);
  steps.passes[4].seconds = steps.passes[0].seconds / 2;
  EXPECT_FALSE(OrderOf(report, "less than the batch", where).holds);
  steps.passes[4].seconds = 20 * steps.passes[0].seconds;
  const PaperOrder slower = OrderOf(report, "throughput grows", where);
  EXPECT_FALSE(slower.holds);
  EXPECT_TRUE(absl::StrContains(slower.why, "of 1 and 16 rows")) << slower.why;
}

TEST(ScalingOrders, PlantedPowersPromptsAndPairsBreakTheirOrders) {
  ScalingReport report = Report();
  report.powers[0].watts[4].value = 0.5 * report.powers[0].watts[0].value;
  report.powers[1].watts[4].value = 2 * report.powers[1].watts[0].value;
  report.powers[0].energy[4].value = 32;
  report.energy_beside.value = 1.1;
  EXPECT_FALSE(OrderOf(report, "power of the 1.5B grows", "").holds);
  EXPECT_FALSE(OrderOf(report, "power of the 3B stays", "").holds);
  EXPECT_FALSE(OrderOf(report, "energy grows with the batch as its time", "qwen2.5-1.5b").holds);
  EXPECT_FALSE(OrderOf(report, "a token's energy falls", "qwen2.5-1.5b").holds);
  EXPECT_FALSE(OrderOf(report, "less energy than one of the 3B", "").holds);
  report.prompts[0].seconds[3] = 2 * report.prompts[0].seconds[0];
  EXPECT_TRUE(OrderOf(report, "slower behind longer prompts", "rows: 1").holds);
  EXPECT_FALSE(OrderOf(report, "by little", "rows: 1").holds);
  report.pairs[0].answers[7] = {.seconds = 2 * report.pairs[0].large_answer.seconds, .joules = 2 * report.pairs[0].large_answer.joules};
  EXPECT_FALSE(OrderOf(report, "take less time than one of a larger", report.pairs[0].large).holds);
  EXPECT_FALSE(OrderOf(report, "and they take less energy", report.pairs[0].large).holds);
  for (ScalingMemory& memory : report.memory) memory.sessions = 1;
  EXPECT_FALSE(OrderOf(report, "one session of the 8 Gen 2", "qwen2.5-3b").holds);
  EXPECT_TRUE(OrderOf(report, "one session of the 8 Gen 2", "qwen2.5-1.5b").holds);
}

}  // namespace
}  // namespace tessera
