#include "tessera/apps/lab/papers/onemodel/onemodel_figures.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/npu/npu_comparison.h"
#include "tessera/base/spread.h"

namespace tessera {
namespace {

constexpr int kUseCaseTable = 6, kBranchTable = 7;
constexpr char kBy[] = "; tokens per pass as published, the best configuration of table 7";

std::optional<OnemodelPrediction> PredictionOf(const OnemodelReport& report, absl::string_view id) {
  const OnemodelPrediction* const found = report.Find(id);
  return found == nullptr ? std::nullopt : std::optional<OnemodelPrediction>(*found);
}

// Adds the figures of the tables that tessera_reproduce npu has.
void AddNpuFigures(const OnemodelReport& report, std::vector<OnemodelFigure>& figures) {
  for (const PublishedFigure& figure : PublishedNpuFigures()) {
    absl::string_view source = figure.source;
    int table;
    if (!absl::ConsumePrefix(&source, "004, table ") || !absl::SimpleAtoi(source, &table)) continue;
    const bool slip = *figure.reason != '\0';
    figures.push_back({.table = table,
                       .id = figure.id,
                       .what = figure.what,
                       .unit = figure.unit,
                       .published = figure.low,
                       .counted = !slip,
                       .note = slip ? absl::StrCat("a slip of the paper: ", figure.reason) : "",
                       .prediction = PredictionOf(report, figure.id)});
  }
}

void AddOnemodelFigures(const OnemodelReport& report, std::vector<OnemodelFigure>& figures) {
  for (const PublishedOnemodelFigure& figure : PublishedOnemodelFigures()) {
    figures.push_back({.table = figure.table,
                       .id = figure.id,
                       .what = figure.what,
                       .unit = figure.unit,
                       .published = figure.value,
                       .counted = *figure.unit != '\0',   // Numbers of graphs do not come from the model.
                       .note = figure.note,
                       .prediction = PredictionOf(report, figure.id)});
  }
}

// Returns the best tokens per pass in table 7; 0: the table does not have the use case.
double BestTokensPerPass(absl::string_view use_case) {
  const absl::Span<const char* const> tasks = PublishedBranchTasks();
  const auto column = std::find(tasks.begin(), tasks.end(), use_case);
  if (column == tasks.end()) return 0;
  double best = 0;
  for (const PublishedBranches& row : PublishedBranchTable()) best = std::max(best, row.tokens_per_pass[column - tasks.begin()]);
  return best;
}

void AddUseCase(const OnemodelReport& report, const PublishedUseCase& use, std::vector<OnemodelFigure>& figures) {
  const auto add = [&](const char* id, const char* what, const char* unit, double published, std::optional<OnemodelPrediction> predicted) {
    figures.push_back({.table = kUseCaseTable, .id = id, .what = what, .unit = unit, .of = use.name, .published = published,
                       .prediction = std::move(predicted)});
  };
  add("004-6-prefill", "prefill", "ms", use.prefill, PredictionOf(report, absl::StrCat("004-3b-prefill-", use.prompt_chunks)));
  add("004-6-plain", "token without DS2D", "ms", use.plain, PredictionOf(report, "004-3b-step"));
  std::optional<OnemodelPrediction> drafted;
  const double tokens_per_pass = BestTokensPerPass(use.name);
  if (tokens_per_pass > 0) {
    drafted = PredictionOf(report, "004-3b-pass");
    drafted->low = drafted->high = drafted->low / tokens_per_pass;
    drafted->asked += kBy;
  }
  add("004-6-ds2d", "token with DS2D", "ms", use.ds2d, std::move(drafted));
  figures.back().counted = false;   // Half of the prediction is published.
  if (tokens_per_pass == 0) figures.back().note = "table 7 does not have this use case";
  add("004-6-peak", "peak memory", "MB", use.peak_megabytes, PredictionOf(report, "004-3b-peak"));
  add("004-6-init", "load", "ms", use.init_milliseconds, PredictionOf(report, "004-3b-init"));
}

void AddBranches(const OnemodelReport& report, std::vector<OnemodelFigure>& figures) {
  for (const PublishedBranches& row : PublishedBranchTable()) {
    std::vector<double> milliseconds;
    for (size_t i = 0; i < std::size(row.tokens_per_pass); ++i) {
      milliseconds.push_back(1e3 * row.tokens_per_pass[i] / row.tokens_per_second[i]);
    }
    figures.push_back({.table = kBranchTable,
                       .id = absl::StrCat("004-7-", row.configuration),
                       .what = absl::StrCat("a pass of (", row.configuration, ")"),
                       .unit = "ms",
                       .published = MedianOf(milliseconds),
                       .prediction = PredictionOf(report, "004-3b-pass")});
  }
}

}  // namespace

std::optional<double> OnemodelFigure::error() const {
  if (!prediction.has_value()) return std::nullopt;
  return MiddleOf(prediction->low, prediction->high) / published - 1;
}

std::vector<OnemodelFigure> OnemodelFigures(const OnemodelReport& report) {
  std::vector<OnemodelFigure> figures;
  AddNpuFigures(report, figures);
  AddOnemodelFigures(report, figures);
  for (const PublishedUseCase& use : PublishedUseCases()) AddUseCase(report, use, figures);
  AddBranches(report, figures);
  std::stable_sort(figures.begin(), figures.end(), [](const OnemodelFigure& a, const OnemodelFigure& b) { return a.table < b.table; });
  return figures;
}

OnemodelErrors ErrorsOf(absl::Span<const OnemodelFigure> figures, Standing standing) {
  std::vector<double> errors;
  for (const OnemodelFigure& figure : figures) {
    const std::optional<double> error = figure.error();
    if (figure.counted && error.has_value() && figure.prediction->standing == standing) errors.push_back(std::abs(*error));
  }
  OnemodelErrors found = {.figures = static_cast<int>(errors.size())};
  found.within = static_cast<int>(std::count_if(errors.begin(), errors.end(), [](double error) { return error <= kNearEnough; }));
  if (!errors.empty()) found.median = MedianOf(std::move(errors));
  return found;
}

}  // namespace tessera
