#include "tessera/apps/lab/papers/lever/lever_compared.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/npu/npu_comparison.h"
#include "tessera/base/spread.h"

namespace tessera {
namespace {

struct TableText { const char *table, *title, *note; };
constexpr TableText kTables[] = {
    {"section5.2", "Speedups (section 5.2): geometric means over the 48 configurations", ""},
    {"table1", "A token at a time (table 1): ms, Q4_0, OnePlus 12", "What the paper's table 1 says is known beforehand, and not counted."},
    {"table2", "Verification (table 2): ms, OnePlus 12",
     "Computing alone, as the paper's times are less than its times of reading. Waste: what rows add that the text does not get to; the "
     "paper does not say what it counts. The model's matrix unit takes 32 rows in about the time of one, so the paper's steep times of "
     "16 and 32 rows are beyond it, and its waste is small."},
    {"table5", "Draft models (table 5): tokens per second, Qwen3-8B, OnePlus 12",
     "EAGLE3: the recording near, at the cost of a head; Qwen3 (0.6B): the recording far, at the cost of that model."},
    {"table6", "Pinned layers (table 6): tokens per second, Lever, OnePlus 12",
     "With more layers in memory passes wait for computing, where the paper's are much slower: see table 2."},
    {"table7", "Output length (table 7): tokens per second, Lever, OnePlus 12",
     "Recorded texts from their beginning, up to so many tokens."},
    {"figure12", "Pruning (figure 12)", ""}};

std::string Number(double value) { return absl::StrFormat("%.4g", value); }
std::string Percent(double share) { return absl::StrFormat("%+.1f %%", 100 * share); }

const PublishedLeverRow& PublishedOf(const LeverSeries& series) {
  const auto rows = PublishedLeverRows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const PublishedLeverRow& row) {
    return series.table == row.table && series.row == row.row;
  });
  CHECK(found != rows.end()) << series.table << " " << series.row;
  return *found;
}

ReportTable SeriesTable(const LeverComparison& comparison, const TableText& text) {
  ReportTable table = {.title = text.title, .columns = {"", ""}, .texts = 2, .name = text.table};
  if (*text.note != '\0') table.notes.push_back(text.note);
  for (const ComparedLeverRow& row : comparison.rows) {
    if (row.ours->table != text.table) continue;
    const std::vector<std::string>& columns = row.ours->columns;
    if (table.columns.size() == 2) table.columns.insert(table.columns.end(), columns.begin(), columns.end());
    std::vector<std::string> ours = {row.ours->row, "predicted"}, published = {"", "published"}, errors = {"", "error"};
    for (size_t column = 0; column < row.published.size(); ++column) {
      const std::optional<double>& value = row.ours->values[column];
      ours.push_back(value.has_value() ? Number(*value) : "missed");
      published.push_back(Number(row.published[column]));
      errors.push_back(row.errors[column].has_value() ? Percent(*row.errors[column]) : "");
    }
    for (std::vector<std::string>* line : {&ours, &published, &errors}) table.rows.push_back(std::move(*line));
    if (!row.ours->missed.empty()) table.notes.push_back(absl::StrCat("Missed: ", row.ours->row, ": ", row.ours->missed, "."));
  }
  return table;
}

ReportTable ConfigurationsTable(const LeverReport& report) {
  ReportTable table = {.title = "Decoding (figure 10): tokens per second",
                       .notes = {"The figure has no numbers in the paper's text.",
                                 "Last columns: tokens per pass, and rows of Lever's passes."},
                       .columns = {"phone", "model", "set"},
                       .texts = 3,
                       .name = "figure10"};
  for (const char* system : kLeverSystems) table.columns.push_back(LeverSystemName(system));
  for (const char* column : {"Lever over Flash-AR", "Chain-SD's tokens", "EdgeLLM's", "Lever's", "rows"}) table.columns.push_back(column);
  for (const LeverConfiguration& one : report.configurations) {
    std::vector<std::string> row = {one.phone, one.model, one.set};
    for (const LeverRun& run : one.runs) row.push_back(absl::StrFormat("%.3f", run.tokens_per_second()));
    row.push_back(absl::StrFormat("%.2f", one.SpeedOf("lever") / one.SpeedOf("flash_ar")));
    for (const char* system : {"chain", "edgellm", "lever"}) row.push_back(absl::StrFormat("%.2f", one.By(system).tokens_per_pass()));
    row.push_back(absl::StrFormat("%.1f", one.By("lever").rows_per_pass()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable TreesTable(const LeverReport& report) {
  ReportTable table = {.title = "Rules for trees (figure 11): OnePlus 12, geometric means over sets",
                       .notes = {"All else is Lever's. The figure has no numbers in the paper's text."},
                       .columns = {"model"},
                       .name = "figure11"};
  for (const char* unit : {"tokens per second", "tokens per pass"}) {
    for (const char* tree : kLeverTrees) table.columns.push_back(absl::StrCat(LeverSystemName(tree), ", ", unit));
  }
  for (const LeverExecution& one : report.executions) {
    std::vector<std::string> row = {one.model};
    for (const double value : one.tokens_per_second) row.push_back(absl::StrFormat("%.3f", value));
    for (const double value : one.tokens_per_pass) row.push_back(absl::StrFormat("%.2f", value));
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable WaysTable(const LeverReport& report) {
  ReportTable table = {.title = "Where drafts and logits are computed (figures 13 and 14): ms per cycle of Lever, OnePlus 12",
                       .notes = {"The same trees by each way. The figures have no numbers in the paper's text.",
                                 "Pruning: what rows compute in the upper half of the layers that the text does not get to, and by how "
                                 "much a pass would be shorter without all of them, reading included: the most that figure 12 can be."},
                       .columns = {"model"},
                       .name = "figures13_14"};
  for (const DraftWay way : kDraftWays) table.columns.push_back(absl::StrCat("draft, ", NameOf(way)));
  for (const HeadWay way : kHeadWays) table.columns.push_back(absl::StrCat("logits, ", NameOf(way)));
  for (const char* column : {"pass", "upper rows", "shorter by"}) table.columns.push_back(column);
  for (const LeverExecution& one : report.executions) {
    std::vector<std::string> row = {one.model};
    for (const double value : one.draft_milliseconds) row.push_back(absl::StrFormat("%.1f", value));
    for (const double value : one.head_milliseconds) row.push_back(absl::StrFormat("%.1f", value));
    for (const double value : {one.pass_milliseconds, one.upper_milliseconds, one.shortened_milliseconds}) {
      row.push_back(absl::StrFormat("%.1f", value));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable SummaryTable(const LeverComparison& comparison) {
  ReportTable table = {.title = "How near",
                       .notes = {"One recording serves all models: what differs between the paper's models in acceptance does not here."},
                       .columns = {"figures", "within 35 %", "missed", "median error"},
                       .texts = 0,
                       .name = kSummaryTable};
  table.rows.push_back({absl::StrCat(comparison.counted), absl::StrCat(comparison.within), absl::StrCat(comparison.missed),
                        comparison.median_error.has_value() ? absl::StrFormat("%.1f %%", 100 * *comparison.median_error)
                                                            : "that of a missed one"});
  return table;
}

}  // namespace

LeverComparison CompareLever(const LeverReport& report) {
  LeverComparison comparison;
  std::vector<double> sizes;   // Errors without their signs.
  for (const LeverSeries& series : report.series) {
    const PublishedLeverRow& published = PublishedOf(series);
    CHECK_LE(series.columns.size(), std::size(published.values)) << series.table << " " << series.row;
    ComparedLeverRow row = {.ours = &series, .source = published.source, .counted = published.counted};
    for (size_t column = 0; column < series.columns.size(); ++column) {
      row.published.push_back(published.values[column]);
      row.errors.emplace_back();
      if (series.values[column].has_value()) row.errors.back() = *series.values[column] / published.values[column] - 1;
      if (!row.counted) continue;
      sizes.push_back(row.errors.back().has_value() ? std::abs(*row.errors.back()) : std::numeric_limits<double>::infinity());
    }
    comparison.rows.push_back(std::move(row));
  }
  comparison.counted = static_cast<int>(sizes.size());
  for (const double size : sizes) {
    comparison.within += size <= kNearEnough ? 1 : 0;
    comparison.missed += std::isinf(size) ? 1 : 0;
  }
  const double median = sizes.empty() ? std::numeric_limits<double>::infinity() : MedianOf(sizes);
  if (std::isfinite(median)) comparison.median_error = median;
  return comparison;
}

std::vector<ReportTable> LeverTables(const LeverReport& report) {
  const LeverComparison comparison = CompareLever(report);
  std::vector<ReportTable> tables = {ConfigurationsTable(report)};
  for (const TableText& text : kTables) tables.push_back(SeriesTable(comparison, text));
  tables.push_back(TreesTable(report));
  tables.push_back(WaysTable(report));
  tables.push_back(SummaryTable(comparison));
  for (ReportTable& table : OrderTables(report.orders)) tables.push_back(std::move(table));
  tables.push_back(RecordingsTable(report.recordings));
  return tables;
}

}  // namespace tessera
