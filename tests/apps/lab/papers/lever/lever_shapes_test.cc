// Lever at the paper's sizes, from drafts that are made up: all configurations and tables, errors, orders and what planted numbers do.
#include "tessera/apps/lab/papers/lever/lever_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/lever/lever_compared.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/made_up_drafts.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

LeverDrafts MadeUpDrafts() {
  return {.near = MadeUpDraft({.likeliest = 0.75f, .texts = 1, .tokens = 128}),
          .far = MadeUpDraft({.likeliest = 0.45f, .seed = 2, .texts = 1, .tokens = 40})};
}

const LeverReport& Report() {
  static const LeverReport report = Must(MakeLeverReport(Must(BuiltInProfiles()), MadeUpDrafts()));
  return report;
}

TEST(LeverShapes, HeaderExample) {
  const LeverReport& report = Report();
  EXPECT_TRUE(absl::StrContains(Must(LeverReportText(report, "all")), "OnePlus 12"));
  for (const PaperOrder& order : report.orders) EXPECT_EQ(order.why.empty(), order.holds) << order.claim << " " << order.where;
}

TEST(LeverShapes, ThereAreTheFortyEightConfigurationsOfFigure10) {
  std::set<std::string> places;
  for (const LeverConfiguration& one : Report().configurations) {
    places.insert(absl::StrCat(one.phone, " ", one.model, " ", one.set));
    ASSERT_EQ(one.runs.size(), std::size(kLeverSystems));
    EXPECT_EQ(one.By("flash_ar").tokens_per_pass(), 1);
    for (const LeverRun& run : one.runs) EXPECT_EQ(run.tokens, 127);
    EXPECT_GE(one.SpeedOf("lever"), one.SpeedOf("chain")) << one.phone << " " << one.model << " " << one.set;
    EXPECT_GE(one.SpeedOf("chain"), one.SpeedOf("flash_ar")) << one.phone << " " << one.model << " " << one.set;
  }
  EXPECT_EQ(places.size(), 48u);
  EXPECT_EQ(Report().configurations.size(), 48u);
}

TEST(LeverShapes, SpeedupsAreGeometricMeansOverAllOfThem) {
  const LeverSeries& series = Report().Series("section5.2", "Lever over");
  double sum = 0;
  for (const LeverConfiguration& one : Report().configurations) sum += std::log(one.SpeedOf("lever") / one.SpeedOf("chain"));
  EXPECT_NEAR(*series.values[1], std::exp(sum / 48), 1e-9);
}

TEST(LeverShapes, PinningRaisesSpeedAndLengthsBeyondTheRecordingAreMissed) {
  for (const LeverSeries& series : Report().series) {
    if (series.table == "table6") {
      // Other times make other trees, so a step may be a hair lower.
      for (size_t i = 1; i < series.values.size(); ++i) {
        EXPECT_GE(*series.values[i], 0.99 * *series.values[i - 1]) << series.row << " " << i;
      }
      EXPECT_GT(*series.values.back(), 1.5 * *series.values.front()) << series.row;
    }
    if (series.table != "table7") continue;
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(series.values[i].has_value(), i < 3) << series.columns[i];
    EXPECT_EQ(series.missed, "recorded texts have at most 128 tokens");
  }
}

TEST(LeverCompared, HeaderExample) {
  const LeverComparison comparison = CompareLever(Report());
  std::set<std::string> rows;
  for (const ComparedLeverRow& row : comparison.rows) {
    rows.insert(absl::StrCat(row.ours->table, " ", row.ours->row));
    ASSERT_EQ(row.published.size(), row.ours->columns.size());
    ASSERT_EQ(row.errors.size(), row.ours->columns.size());
    for (size_t i = 0; i < row.errors.size(); ++i) {
      EXPECT_GT(row.published[i], 0) << row.ours->table << " " << row.ours->row;
      EXPECT_EQ(row.errors[i].has_value(), row.ours->values[i].has_value());
      if (!row.errors[i].has_value()) continue;
      EXPECT_NEAR(row.published[i] * (1 + *row.errors[i]), *row.ours->values[i], 1e-9);
    }
  }
  for (const PublishedLeverRow& row : PublishedLeverRows()) EXPECT_TRUE(rows.contains(absl::StrCat(row.table, " ", row.row))) << row.row;
  EXPECT_EQ(rows.size(), PublishedLeverRows().size());
  EXPECT_EQ(comparison.counted, 3 + 12 + 24 + 24 + 20 + 3) << "without table 1";
  EXPECT_EQ(comparison.missed, 8 + 3) << "two lengths of four workloads, and figure 12";
  EXPECT_LE(comparison.within, comparison.counted - comparison.missed);
}

TEST(LeverCompared, TablesHaveACellForEachColumnAndThePapersBeside) {
  const std::string text = absl::StrReplaceAll(Must(LeverReportText(Report(), "all")), {{"\n", " "}});   // Notes go over lines.
  for (const ReportTable& table : LeverTables(Report())) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
    EXPECT_TRUE(absl::StrContains(text, table.title)) << table.title;
  }
  for (const char* said : {"2.93", "990.6", "1255", "1.753", "5.494", "2.173", "12.2", "missed", kOffPathRule}) {
    EXPECT_TRUE(absl::StrContains(text, said)) << said;
  }
}

TEST(LeverReport, JsonHasAllConfigurationsFiguresAndOrders) {
  const JsonValue json = Must(JsonValue::Parse(LeverReportJson(Report()), "report"));
  EXPECT_EQ(Must(json.Array("configurations")).size(), 48);
  EXPECT_EQ(Must(json.Array("figures")).size(), static_cast<int64_t>(PublishedLeverRows().size()));
  EXPECT_EQ(Must(json.Array("orders")).size(), static_cast<int64_t>(Report().orders.size()));
  EXPECT_EQ(Must(json.Array("execution")).size(), 4);
  EXPECT_EQ(Must(json.String("off_path")), kOffPathRule);
  EXPECT_EQ(Must(Must(json.Object("summary")).Int("missed")), CompareLever(Report()).missed);
}

TEST(LeverReport, APictureHasTheFirstPhonesModels) {
  const std::string picture = LeverReportSvg(Report());
  EXPECT_TRUE(absl::StartsWith(picture, "<svg "));
  for (const LeverModel& model : kLeverModels) EXPECT_TRUE(absl::StrContains(picture, model.name)) << model.name;
}

PaperOrder OrderOf(const LeverReport& report, const std::string& claim, const std::string& where) {
  for (PaperOrder& order : LeverOrders(report)) {
    if (absl::StrContains(order.claim, claim) && absl::StrContains(order.where, where)) return order;
  }
  ADD_FAILURE() << claim << " " << where;
  return {};
}

// All claims of the paper are counted, each in all its places.
TEST(LeverOrders, ClaimsAreCountedInAllTheirPlaces) {
  std::vector<std::pair<std::string, int>> found;
  for (const OrderCount& count : CountOrders(Report().orders)) {
    found.emplace_back(count.claim.substr(0, count.claim.find(':')), count.all);
    EXPECT_LE(count.holds, count.all);
  }
  const std::vector<std::pair<std::string, int>> expected = {
      {"section 5.2", 48}, {"figure 10", 48}, {"section 5.2", 12}, {"figure 11", 4}, {"figure 11", 4}, {"figure 11", 4}, {"figure 11", 4},
      {"figure 13", 4},    {"figure 13", 4},  {"figure 14", 4},    {"section 4.4", 4}, {"table 5", 8},  {"table 5", 12}, {"table 6", 4},
      {"table 7", 4}};
  EXPECT_EQ(found, expected);
}

TEST(LeverOrders, APlantedNumberBreaksAnOrder) {
  LeverReport report = Report();
  const std::string where = "Honor 500 Pro, Qwen3-8B, mbpp";
  LeverConfiguration& one = *std::find_if(report.configurations.begin(), report.configurations.end(), [&](const LeverConfiguration& c) {
    return absl::StrCat(c.phone, ", ", c.model, ", ", c.set) == where;
  });
  double seconds = 40;
  for (size_t i = 0; i < 4; ++i) one.runs[i].seconds = seconds -= 5;   // Flash-AR, Chain-SD, EdgeLLM, Lever.
  EXPECT_TRUE(OrderOf(report, "faster than all baselines", where).holds);
  EXPECT_TRUE(OrderOf(report, "figure 10", where).holds);
  one.runs[1].seconds = 23;
  EXPECT_TRUE(OrderOf(report, "faster than all baselines", where).holds) << "Chain-SD before EdgeLLM, and behind Lever";
  EXPECT_FALSE(OrderOf(report, "figure 10", where).holds);
  one.runs[0].seconds = 1;
  const PaperOrder beaten = OrderOf(report, "faster than all baselines", where);
  EXPECT_FALSE(beaten.holds);
  EXPECT_TRUE(absl::StrContains(beaten.why, "Flash-AR")) << beaten.why;
}

TEST(LeverOrders, PlantedExecutionsBreakTheirOrders) {
  LeverReport report = Report();
  LeverExecution& one = report.executions[0];
  one.tokens_per_second = {1, 2, 3};
  one.tokens_per_pass = {3, 5, 4};
  for (size_t way = 0; way < 3; ++way) one.draft_milliseconds[way] = one.head_milliseconds[way] = 3.0 - static_cast<double>(way);
  for (const char* claim : {"faster than SpecInfer", "longer than SpecInfer", "faster than OPT-Tree", "longer than Lever", "figure 13",
                            "figure 14"}) {
    EXPECT_TRUE(OrderOf(report, claim, one.model).holds) << claim;
  }
  one.head_milliseconds[1] = 0.5;
  one.tokens_per_second[1] = 4;
  EXPECT_FALSE(OrderOf(report, "figure 14", one.model).holds);
  EXPECT_TRUE(OrderOf(report, "section 4.4", one.model).holds);
  EXPECT_FALSE(OrderOf(report, "faster than OPT-Tree", one.model).holds);
}

TEST(LeverShapes, RecordingsWithoutASetAreRefused) {
  LeverDrafts drafts = MadeUpDrafts();
  EXPECT_TRUE(CheckLeverDrafts(drafts).ok());
  std::erase_if(drafts.far.texts, [](const DraftedText& text) { return text.set == "humaneval"; });
  EXPECT_TRUE(CheckLeverDrafts(drafts).ok()) << "table 5 has no such set";
  std::erase_if(drafts.near.texts, [](const DraftedText& text) { return text.set == "humaneval"; });
  const absl::Status status = MakeLeverReport(Must(BuiltInProfiles()), drafts).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(), "recording near: found no text of humaneval, expected some");
}

}  // namespace
}  // namespace tessera
