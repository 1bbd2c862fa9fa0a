#include "tessera/apps/lab/papers/npu/calibration.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/runtime/plan/phone_report.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr char kLine[] = "{\"device\": \"8gen3\", \"source\": \"a paper\", \"milliseconds\": 22, \"key\": [\"pass_milliseconds\", \"1\"], "
                         "\"ask\": {\"shape\": \"004-1b\", \"recipe\": \"qnn\", \"context\": 1024, \"prompt\": 1, \"decode\": 1, "
                         "\"rows\": [1]}}";

TEST(Calibration, HeaderExample) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels models;
  const std::vector<CalibrationFigure> figures = Must(CalibrationFigures());
  EXPECT_EQ(Must(PredictCalibration(figures, profiles, models)).size(), figures.size());
  const CalibrationErrors errors = Must(ErrorsOfCalibration(figures, profiles, models));
  EXPECT_LE(errors.median(), errors.worst());
}

// The script that fits asks tessera_inspect --device.
TEST(Calibration, PredictsTheTimesThatAReportShows) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels models;
  const std::vector<CalibrationFigure> figures = Must(CalibrationFigures());
  const std::vector<double> predicted = Must(PredictCalibration(figures, profiles, models));
  ASSERT_EQ(figures.size(), 35u);
  for (size_t i = 0; i < figures.size(); ++i) {
    const CalibrationFigure& figure = figures[i];
    PhoneQuestion question;
    question.device = figure.device + ":static";
    question.shape = figure.shape;
    question.recipe = figure.recipe;
    question.prompt = static_cast<int>(figure.prompt);
    question.decode = 1;
    question.rows = {static_cast<int>(figure.rows)};
    question.context = static_cast<int>(figure.context);
    question.chunk_rows = static_cast<int>(figure.chunk_rows);
    question.adapter_rank = figure.adapter_rank;
    const PhoneReport report = Must(MakePhoneReport(question));
    const double seconds = figure.time == CalibrationFigure::Time::kPass     ? report.passes[0].seconds
                           : figure.time == CalibrationFigure::Time::kPrompt ? report.prompt.seconds
                                                                             : report.load_seconds;
    EXPECT_NEAR(predicted[i], seconds * 1e3, 1e-9 * predicted[i]) << figure.source;
  }
}

TEST(Calibration, FiguresLeftOutAreMissedByMore) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels models;
  const CalibrationErrors errors = Must(ErrorsOfCalibration(Must(CalibrationFigures()), profiles, models));
  EXPECT_EQ(errors.parameters, 11);
  EXPECT_LE(3 * errors.parameters, static_cast<int>(errors.in_sample.size())) << "at most a third";
  ASSERT_EQ(errors.left_out.size(), errors.in_sample.size());
  for (size_t i = 0; i < errors.left_out.size(); ++i) {
    EXPECT_GE(std::abs(errors.left_out[i]), std::abs(errors.in_sample[i]));
    EXPECT_EQ(errors.left_out[i] > 0, errors.in_sample[i] > 0);
  }
  EXPECT_GE(errors.median_left_out(), errors.median());
  EXPECT_GE(errors.worst_left_out(), errors.worst());
}

TEST(Calibration, BadLinesAreRefused) {
  ASSERT_EQ(Must(ParseCalibration(kLine, "lines")).size(), 1u);
  const auto error_of = [](const std::string& text) {
    const auto figures = ParseCalibration(text, "lines");
    EXPECT_FALSE(figures.ok()) << text;
    return std::string(figures.status().message());
  };
  EXPECT_TRUE(absl::StartsWith(error_of(absl::StrCat(kLine, "\n{}")), "lines, line 2: "));
  EXPECT_TRUE(absl::StrContains(error_of("{\"device\": \"8gen3\", \"source\": \"a\", \"milliseconds\": -1}"), "found -1 milliseconds"));
  std::string other = kLine;
  other.replace(other.find("pass_milliseconds"), 4, "hold");
  EXPECT_TRUE(absl::StrContains(error_of(other), "key: found another path"));
}

TEST(ProfileSets, ChangeOneNumber) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  const ProfileSet slower = Times(profiles, "dma_bytes_per_second", 0.5, {"8gen3"});
  EXPECT_DOUBLE_EQ(slower.at("8gen3").dma_bytes_per_second, 0.5 * profiles.at("8gen3").dma_bytes_per_second);
  EXPECT_EQ(slower.at("8elite").dma_bytes_per_second, profiles.at("8elite").dma_bytes_per_second);
  const DeviceProfile least = AtEnd(profiles, "kernel_seconds", RangeEnd::kLow).at("8gen3");
  EXPECT_EQ(least.kernel_seconds, profiles.at("8gen3").facts.at("kernel_seconds").low);
  EXPECT_EQ(AtEnd(profiles, "tcm_bytes", RangeEnd::kHigh).at("8gen3").tcm_bytes, profiles.at("8gen3").tcm_bytes) << "it was measured";
}

}  // namespace
}  // namespace tessera
