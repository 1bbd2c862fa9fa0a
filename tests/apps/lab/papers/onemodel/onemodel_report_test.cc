// One model for many tasks: every figure of the paper has its place, predictions know none of them, and tables and JSON say the same.
#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_figures.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_runs.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_tables.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

std::vector<Ds2dRun> MadeUpRuns() {
  return {{.model = "s.gguf", .configuration = "3,2", .tasks = {{"rag", 4, 300, 200}, {"code", 2, 90, 50}}},
          {.model = "s.gguf", .configuration = "15", .tasks = {{"rag", 4, 250, 200}, {"code", 2, 110, 50}}},
          {.model = "s.gguf", .configuration = "auto", .tasks = {{"rag", 4, 700, 200}}},
          {.model = "s.gguf", .forecasts = "untrained", .configuration = "3,2", .tasks = {{"rag", 4, 200, 200}}}};
}

const OnemodelReport& Report() {
  static const OnemodelReport report = Must(MakeOnemodelReport(Profiles(), MadeUpRuns()));
  return report;
}

const OnemodelFigure& FigureNamed(const std::vector<OnemodelFigure>& figures, const std::string& id) {
  for (const OnemodelFigure& figure : figures) {
    if (figure.id == id) return figure;
  }
  ADD_FAILURE() << id;
  return figures.front();
}

TEST(OnemodelReport, HeaderExample) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  const OnemodelReport report = Must(MakeOnemodelReport(profiles, /*runs=*/{}));
  const std::string text = Must(OnemodelReportText(report, "all"));
  for (const char* const said : {"Table 1: ", "Table 2: ", "Table 3: ", "Table 5: ", "Table 6: ", "Table 7: ", "Table 9: ", "Table 10: ",
                                 "What is not addressed", "missing: no --recordings=FILE", "One for all: 8 tasks"}) {
    EXPECT_TRUE(absl::StrContains(text, said)) << said;
  }
  EXPECT_TRUE(JsonValue::Parse(OnemodelReportJson(report), "report").ok());
}

TEST(OnemodelReport, FiguresExample) {
  const std::vector<OnemodelFigure> figures = OnemodelFigures(Report());
  for (const OnemodelFigure& figure : figures) {
    EXPECT_GT(figure.published, 0) << figure.id;
    EXPECT_EQ(figure.error().has_value(), figure.prediction.has_value()) << figure.id;
    if (!figure.prediction.has_value()) {
      EXPECT_FALSE(figure.note.empty()) << figure.id << " is missing, and nothing says why";
      continue;
    }
    EXPECT_GT(figure.prediction->low, 0) << figure.id;
    EXPECT_LE(figure.prediction->low, figure.prediction->high) << figure.id;
    EXPECT_FALSE(figure.prediction->asked.empty()) << figure.id;
    EXPECT_TRUE(std::isfinite(*figure.error())) << figure.id;
  }
  EXPECT_GT(ErrorsOf(figures, Standing::kElsewhere).figures, 30);
}

TEST(OnemodelReport, EveryTableExceptAccuracyHasItsFigures) {
  std::set<int> tables;
  for (const OnemodelFigure& figure : OnemodelFigures(Report())) tables.insert(figure.table);
  EXPECT_EQ(tables, (std::set<int>{1, 2, 3, 5, 6, 7, 9, 10}));
}

TEST(OnemodelReport, EachPredictionIsThereOnceAndHasAFigure) {
  std::set<std::string> ids, used;
  for (const OnemodelPrediction& prediction : Report().predictions) EXPECT_TRUE(ids.insert(prediction.id).second) << prediction.id;
  for (const OnemodelFigure& figure : OnemodelFigures(Report())) {
    if (figure.prediction.has_value()) used.insert(figure.prediction->id);
  }
  EXPECT_EQ(ids.count("004-mask-graphs") + ids.count("004-input-graphs"), 2u);
  ids.erase("004-mask-graphs");    // Tables 1 and 2 do not say these.
  ids.erase("004-input-graphs");
  EXPECT_EQ(used, ids);
}

// The paper's own formula says 224 where its table says 174.
TEST(OnemodelReport, TheSlipOfTable3IsShownAndNotCounted) {
  const std::vector<OnemodelFigure> figures = OnemodelFigures(Report());
  const OnemodelFigure& slip = FigureNamed(figures, "004-total-1");
  EXPECT_EQ(slip.published, 174);
  EXPECT_FALSE(slip.counted);
  EXPECT_TRUE(absl::StrContains(slip.note, "224")) << slip.note;
  const OnemodelFigure& formula = FigureNamed(figures, "004-total-1-formula");
  EXPECT_EQ(formula.published, 224);
  EXPECT_TRUE(formula.counted);
  EXPECT_EQ(formula.prediction->low, slip.prediction->low);
  EXPECT_LT(std::abs(*formula.error()), std::abs(*slip.error()));
}

TEST(OnemodelReport, ErrorsCountFiguresByStanding) {
  const std::vector<OnemodelFigure> figures = OnemodelFigures(Report());
  int counted = 0, by_standing = 0;
  for (const OnemodelFigure& figure : figures) counted += figure.counted && figure.error().has_value() ? 1 : 0;
  for (const Standing standing : {Standing::kFitted, Standing::kNear, Standing::kElsewhere}) {
    const OnemodelErrors errors = ErrorsOf(figures, standing);
    EXPECT_GT(errors.figures, 0) << StandingName(standing);
    EXPECT_LE(errors.within, errors.figures) << StandingName(standing);
    by_standing += errors.figures;
  }
  EXPECT_EQ(by_standing, counted);
  EXPECT_EQ(ErrorsOf({}, Standing::kNear).figures, 0);
}

// Another cost shows in errors, and no published figure in predictions.
TEST(OnemodelReport, AWrongCostShows) {
  const OnemodelReport wrong = Must(MakeOnemodelReport(Times(Profiles(), "dma_bytes_per_second", 0.5), {}));
  for (const char* const id : {"004-3b-step", "004-input-step", "004-3b-pass"}) {
    EXPECT_GT(wrong.Find(id)->low, 1.2 * Report().Find(id)->low) << id;
  }
  EXPECT_EQ(wrong.Find("004-3b-peak")->low, Report().Find("004-3b-peak")->low);
}

TEST(OnemodelReport, ADeeperPromptAndALargerRankCostMore) {
  const OnemodelReport more = Must(MakeOnemodelReport(Profiles(), {}, {.adapter_rank = 64, .prompt_chunks = 5}));
  EXPECT_NEAR(more.Find("004-rom-adapters")->low, 4 * Report().Find("004-rom-adapters")->low, 1e-6);
  EXPECT_GT(more.Find("004-1b-first")->low, 1.5 * Report().Find("004-1b-first")->low);
  EXPECT_EQ(more.Find("004-base-step")->low, Report().Find("004-base-step")->low);
}

TEST(OnemodelReport, ASetWithoutThePapersPhonesIsRefused) {
  for (const char* const phone : {"8gen3", "8elite"}) {
    ProfileSet profiles = Profiles();
    profiles.erase(phone);
    EXPECT_TRUE(absl::IsNotFound(MakeOnemodelReport(profiles, {}).status())) << phone;
  }
}

TEST(OnemodelReport, SetupsAreOfEachPhoneShapeAndWay) {
  EXPECT_EQ(Report().setups.size(), Profiles().size() * 2 * std::size(kAdapterWays));
  std::set<std::string> seen;
  for (const OnemodelSetup& setup : Report().setups) {
    EXPECT_EQ(setup.tasks, 8);
    EXPECT_EQ(setup.graphs, setup.way == AdapterWay::kGraph ? 16 : 2);
    EXPECT_TRUE(seen.insert(setup.phone + setup.shape + AdapterWayName(setup.way)).second);
  }
}

TEST(OnemodelReport, TablesHaveACellPerColumn) {
  std::set<std::string> titles;
  for (const ReportTable& table : OnemodelTables(Report())) {
    EXPECT_TRUE(titles.insert(table.title).second) << table.title;
    EXPECT_FALSE(table.rows.empty()) << table.title;
    EXPECT_LE(table.texts, static_cast<int>(table.columns.size())) << table.title;
    for (const std::vector<std::string>& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
    for (const std::string& note : table.notes) EXPECT_TRUE(absl::EndsWith(note, ".")) << note;
  }
  EXPECT_EQ(titles.count("Table 7 by real runs of s.gguf: tokens per pass (per second on the modeled 3B)"), 1u);
}

TEST(OnemodelReport, RealRunsStandInTable7WithTheirTasks) {
  for (const ReportTable& table : OnemodelTables(Report())) {
    if (!absl::StartsWith(table.title, "Table 7 by real runs of s.gguf: tokens")) continue;
    EXPECT_EQ(table.columns, (std::vector<std::string>{"configuration", "rag", "code"}));
    ASSERT_EQ(table.rows.size(), 3u);
    EXPECT_EQ(table.rows[0][0], "3,2");
    EXPECT_TRUE(absl::StartsWith(table.rows[0][1], "1.50 (")) << table.rows[0][1];
    EXPECT_EQ(table.rows[2][2], "-");
  }
  EXPECT_FALSE(absl::StrContains(Must(OnemodelReportText(Report(), "all")), "missing: no --recordings"));
}

TEST(OnemodelReport, TheBestConfigurationOfATaskStandsBesidePlainDecoding) {
  const std::vector<Ds2dBest> best = BestOfTasks(Report().runs);
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].configuration, "3,2") << "that it was chosen on the way is no configuration";
  EXPECT_DOUBLE_EQ(best[0].tokens_per_pass, 1.5);
  EXPECT_EQ(best[1].task, "code");
  EXPECT_EQ(best[1].configuration, "15");
  EXPECT_EQ(best[2].of, "s.gguf with untrained");
  int tables = 0;
  for (const ReportTable& table : RunsTables(Report())) {
    if (!absl::StrContains(table.title, "of s.gguf: the best configuration")) continue;
    ++tables;
    EXPECT_EQ(table.columns, (std::vector<std::string>{"task", "configuration", "tokens per pass", "auto", "3B, tokens/s", "3B, plain",
                                                       "3B, times", "1B, tokens/s", "1B, plain", "1B, times"}));
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_EQ(table.rows[0][3], "3.50");
    EXPECT_EQ(table.rows[1][3], "-");
    double times = 0;
    ASSERT_TRUE(absl::SimpleAtod(table.rows[1][6], &times));
    const Ds2dTimes& phone = Report().ds2d_3b;
    EXPECT_NEAR(times, 2.2 * phone.row_milliseconds / phone.pass_milliseconds, 0.006);
    EXPECT_EQ(table.notes[0], "1 of 2 tasks have at least 1.6 times the tokens per second of plain decoding on the modeled 3B.");
  }
  EXPECT_EQ(tables, 1);
}

// Where the choice alone was measured there is no best one.
TEST(OnemodelReport, RunsOfAutoAloneHaveOneTable) {
  OnemodelReport report = Report();
  std::erase_if(report.runs, [](const Ds2dRun& run) { return run.configuration != "auto"; });
  EXPECT_EQ(RunsTables(report).size(), 1u);
  EXPECT_TRUE(BestOfTasks(report.runs).empty());
}

TEST(OnemodelReport, JsonHasTheContentsOfTheTables) {
  const JsonValue json = Must(JsonValue::Parse(OnemodelReportJson(Report()), "report"));
  EXPECT_EQ(Must(json.Array("figures")).size(), static_cast<int64_t>(OnemodelFigures(Report()).size()));
  EXPECT_EQ(Must(json.Array("setups")).size(), static_cast<int64_t>(Report().setups.size()));
  EXPECT_EQ(Must(json.Array("runs")).size(), 4);
  const JsonValue best = Must(json.Array("best"));
  ASSERT_EQ(best.size(), 3);
  EXPECT_EQ(Must(best[1].String("configuration")), "15");
  EXPECT_GT(Must(Must(best[1].Array("phones"))[0].Double("gain")), kWantedDs2dGain);
  EXPECT_EQ(Must(json.Ints("not_addressed")), (std::vector<int64_t>{4, 8}));
  EXPECT_TRUE(Must(json.Object("errors")).Has("elsewhere"));
}

}  // namespace
}  // namespace tessera
