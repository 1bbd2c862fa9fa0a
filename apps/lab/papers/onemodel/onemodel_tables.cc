#include "tessera/apps/lab/papers/onemodel/onemodel_tables.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/npu/npu_comparison.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_figures.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_runs.h"
#include "tessera/spec/trees/branches.h"

namespace tessera {
namespace {

using Figures = std::vector<OnemodelFigure>;

std::string Number(double value, int digits = 4) { return absl::StrFormat("%.*g", digits, value); }
std::string Decimals(double value, int decimals) { return absl::StrFormat("%.*f", decimals, value); }
std::string Megabytes(int64_t bytes) { return Decimals(static_cast<double>(bytes) / 1e6, 0); }

std::string PredictedText(const OnemodelFigure& figure) {
  if (!figure.prediction.has_value()) return "-";
  const double low = figure.prediction->low, high = figure.prediction->high;
  return low == high ? Number(low) : absl::StrCat(Number(low), " - ", Number(high));
}
std::string ErrorText(const OnemodelFigure& figure) {
  const std::optional<double> error = figure.error();
  return error.has_value() ? absl::StrFormat("%+.1f %%", 100 * *error) : "-";
}
const char* StandingText(const OnemodelFigure& figure) {
  if (!figure.prediction.has_value()) return "-";
  return figure.counted ? StandingName(figure.prediction->standing) : "not counted";
}

// Adds the notes of figures, each once, after all its figures.
void AddNotes(const Figures& figures, int number, ReportTable& table) {
  std::vector<std::pair<std::string, std::string>> notes;   // Each with its figures.
  for (const OnemodelFigure& figure : figures) {
    if (figure.table != number || figure.note.empty()) continue;
    const std::string what = absl::StrCat(figure.of.empty() ? "" : absl::StrCat(figure.of, ", "), figure.what);
    const auto same = [&](const auto& other) { return other.first == figure.note; };
    const auto found = std::find_if(notes.begin(), notes.end(), same);
    if (found == notes.end()) {
      notes.emplace_back(figure.note, what);
    } else {
      absl::StrAppend(&found->second, "; ", what);
    }
  }
  for (const auto& [note, what] : notes) table.notes.push_back(absl::StrCat(what, ": ", note, "."));
}

ReportTable FiguresTable(const Figures& figures, int number, std::string title, std::vector<std::string> notes = {}) {
  ReportTable table = {.title = absl::StrCat("Table ", number, ": ", title),
                       .notes = std::move(notes),
                       .columns = {"what", "worth", "unit", "published", "modeled", "error"},
                       .texts = 3,
                       .name = absl::StrCat("table", number)};
  for (const OnemodelFigure& figure : figures) {
    if (figure.table != number) continue;
    table.rows.push_back({figure.what, StandingText(figure), figure.unit, Number(figure.published, 5), PredictedText(figure),
                          ErrorText(figure)});
  }
  AddNotes(figures, number, table);
  return table;
}

// Makes table 6: a row per use case and measure side by side, times or figures about memory.
ReportTable UseCasesTable(const Figures& figures, std::string title, const std::set<std::string>& measures,
                          std::vector<std::string> notes) {
  ReportTable table = {.title = absl::StrCat("Table 6: ", title), .notes = std::move(notes), .columns = {"use case"}, .name = "table6"};
  for (const OnemodelFigure& figure : figures) {
    if (measures.count(figure.id) == 0) continue;
    const bool first = table.rows.size() <= 1 && (table.rows.empty() || table.rows.back()[0] == figure.of);
    if (first) {
      for (const std::string& column : {absl::StrCat(figure.what, ", ", figure.unit), std::string("modeled"), std::string("error")}) {
        table.columns.push_back(column);
      }
    }
    if (table.rows.empty() || table.rows.back()[0] != figure.of) table.rows.push_back({figure.of});
    for (std::string cell : {Number(figure.published), PredictedText(figure), ErrorText(figure)}) {
      table.rows.back().push_back(std::move(cell));
    }
  }
  return table;
}

void AddUseCases(const OnemodelReport& report, const Figures& figures, std::vector<ReportTable>& tables) {
  ReportTable times = UseCasesTable(figures, absl::StrCat("use cases of the 3B, times, ", kPhoneOf3b),
                                    {"004-6-prefill", "004-6-plain", "004-6-ds2d"},
                                    {"Prefill: a range, since rows of a chunk are not said (128 to 512); 1, 2 and 4 chunks are read off "
                                     "published times. With DS2D: the modeled pass by the paper's own tokens per pass (table 7, the best "
                                     "configuration)."});
  AddNotes(figures, 6, times);
  times.notes.push_back(absl::StrFormat("A pass of %d rows takes %.2f times one of 1 row by the model.", kDs2dGraphRows,
                                        report.ds2d_3b.pass_milliseconds / report.ds2d_3b.row_milliseconds));
  tables.push_back(std::move(times));
  tables.push_back(UseCasesTable(figures, "use cases of the 3B, memory and loading", {"004-6-peak", "004-6-init"}, {}));
}

// Tabulates times of passes by configuration, and the spread of the published times.
ReportTable PassesTable(const Figures& figures) {
  ReportTable table = {.title = "Table 7: passes of DS2D, ms",
                       .notes = {"Published: tokens per pass by tokens per second, the least, the median and the most of eight use cases. "
                                 "Modeled: a graph of 32 rows, which all configurations share.",
                                 "Published passes are shorter than table 6's tokens without DS2D, which are passes of one row: other "
                                 "graphs or clocks."},
                       .columns = {"configuration", "rows", "least", "median", "most", "modeled", "error"},
                       .name = "table7"};
  for (const PublishedBranches& row : PublishedBranchTable()) {
    std::vector<double> milliseconds;
    for (size_t i = 0; i < std::size(row.tokens_per_pass); ++i) {
      milliseconds.push_back(1e3 * row.tokens_per_pass[i] / row.tokens_per_second[i]);
    }
    const auto [least, most] = std::minmax_element(milliseconds.begin(), milliseconds.end());
    const std::string id = absl::StrCat("004-7-", row.configuration);
    const auto figure = std::find_if(figures.begin(), figures.end(), [&](const OnemodelFigure& one) { return one.id == id; });
    const absl::StatusOr<Branches> branches = ParseBranches(row.configuration, kDs2dGraphRows);
    table.rows.push_back({row.configuration, branches.ok() ? absl::StrCat(RowsOf(*branches)) : "-", Decimals(*least, 2),
                          Decimals(figure->published, 2), Decimals(*most, 2), PredictedText(*figure), ErrorText(*figure)});
  }
  return table;
}

ReportTable PublishedBranchesTable() {
  ReportTable table = {.title = "Table 7 as published: tokens per pass, by configuration and use case",
                       .columns = {"configuration"},
                       .name = "table7_published"};
  for (const char* const task : PublishedBranchTasks()) table.columns.push_back(task);
  for (const PublishedBranches& row : PublishedBranchTable()) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector<std::string>{row.configuration});
    for (const double tokens : row.tokens_per_pass) cells.push_back(Decimals(tokens, 2));
  }
  return table;
}

ReportTable NotAddressedTable(const OnemodelReport& report) {
  ReportTable table = {.title = "What is not addressed", .columns = {"table", "what", "why"}, .texts = 3, .name = "not_addressed"};
  table.rows = {{"4", "accuracy by task and language, 1B", "neither its data nor its models are public"},
                {"8", "accuracy by task and language, 3B", "its data are not public, and neither is the model that judges"}};
  if (report.runs.empty()) {
    table.rows.push_back({"7", "tokens per pass by real runs", "missing: no --recordings=FILE (lines of tessera_bench spec --json)"});
  }
  return table;
}

ReportTable SetupsTable(const OnemodelReport& report) {
  const std::string prompt = absl::StrFormat("First token: a prompt of %d full chunks (%d rows each, the 3B %d).",
                                             report.assumptions.prompt_chunks, kOnemodel1b.chunk_rows, kOnemodel3b.chunk_rows);
  ReportTable table = {.title = absl::StrCat("One for all: ", kOnemodelTasks, " tasks on each phone, by each way to have their adapters"),
                       .notes = {prompt, "Sessions: address spaces that the phone needs for it.",
                                 "Mask: a pair of products for each task; together: one for all, as --lora_mode=mask has them."},
                       .columns = {"phone", "shape", "adapters", "graphs", "weights in graphs, MB", "inputs, MB", "peak memory, MB",
                                   "load, ms", "first token, ms", "token, ms", "tokens/s", "sessions"},
                       .texts = 3,
                       .name = "one_for_all"};
  for (const OnemodelSetup& setup : report.setups) {
    table.rows.push_back({setup.phone, setup.shape, AdapterWayName(setup.way), absl::StrCat(setup.graphs), Megabytes(setup.graph_bytes),
                          Megabytes(setup.adapter_bytes), Megabytes(setup.peak_bytes()), Decimals(1e3 * setup.load_seconds, 0),
                          Decimals(1e3 * setup.first_token_seconds, 1), Decimals(1e3 * setup.token_seconds, 2),
                          Decimals(1 / setup.token_seconds, 1), absl::StrCat(setup.sessions)});
  }
  return table;
}

ReportTable ErrorsTable(const OnemodelReport& report, const Figures& figures) {
  ReportTable table = {.title = "Errors, of figures that count",
                       .notes = {absl::StrCat("fitted: parameters of profiles were fitted to this very figure. near: the same graph and "
                                              "phone. elsewhere: what the model really predicts, adapters of rank ",
                                              report.assumptions.adapter_rank, " being assumed.")},
                       .columns = {"worth", "figures", absl::StrFormat("within %.0f %%", 100 * kNearEnough), "median error"},
                       .name = kSummaryTable};
  for (const Standing standing : {Standing::kFitted, Standing::kNear, Standing::kElsewhere}) {
    const OnemodelErrors errors = ErrorsOf(figures, standing);
    table.rows.push_back({StandingName(standing), absl::StrCat(errors.figures), absl::StrCat(errors.within),
                          absl::StrFormat("%.1f %%", 100 * errors.median)});
  }
  return table;
}

ReportTable AskedTable(const Figures& figures) {
  ReportTable table = {.title = "How it was asked", .columns = {"table", "what", "how"}, .texts = 3, .name = "asked"};
  std::set<std::string> shown;
  for (const OnemodelFigure& figure : figures) {
    if (!figure.prediction.has_value() || !shown.insert(absl::StrCat(figure.table, figure.what, figure.prediction->asked)).second) continue;
    table.rows.push_back({absl::StrCat(figure.table), figure.what, figure.prediction->asked});
  }
  return table;
}

std::string RankNote(const OnemodelReport& report, const Figures& figures) {
  for (const OnemodelFigure& figure : figures) {
    if (figure.id != "004-rom-adapters") continue;
    const double rank = figure.published * 1e6 / 4 / static_cast<double>(report.adapter_bytes_per_rank);
    return absl::StrFormat("Adapters at queries, keys, values and outputs of this shape have the published size with rank %.0f.", rank);
  }
  return "";
}

std::string SplitNote(const OnemodelReport& report) {
  return absl::StrFormat("Splitting B per head adds %.3f ms to the first token and %.3f ms to a step by the model: the same tiles are read "
                         "and multiplied.", report.split_chunk_milliseconds, report.split_row_milliseconds);
}

}  // namespace

std::vector<ReportTable> OnemodelTables(const OnemodelReport& report) {
  const Figures figures = OnemodelFigures(report);
  std::vector<ReportTable> tables = {
      FiguresTable(figures, 1, absl::StrCat("graphs per task, the 1B, ", kPhoneOf1b)),
      FiguresTable(figures, 2, "adapters behind a mask, and as inputs",
                   {"Parameters were fitted with adapters at all seven products of a layer; the paper has four (section 3.1), as here."}),
      FiguresTable(figures, 3, "several answers at once (CTG)"), FiguresTable(figures, 5, "the whole, the 1B")};
  AddUseCases(report, figures, tables);
  tables.push_back(PassesTable(figures));
  tables.push_back(PublishedBranchesTable());
  for (ReportTable& table : RunsTables(report)) tables.push_back(std::move(table));
  tables.push_back(FiguresTable(figures, 9, "storage", {RankNote(report, figures)}));
  tables.push_back(FiguresTable(figures, 10, "transformations of graphs", {SplitNote(report)}));
  tables.push_back(NotAddressedTable(report));
  tables.push_back(SetupsTable(report));
  tables.push_back(AskedTable(figures));
  tables.push_back(ErrorsTable(report, figures));
  return tables;
}

absl::StatusOr<std::string> OnemodelReportText(const OnemodelReport& report, absl::string_view table) {
  return ShownTables(OnemodelTables(report), table);
}

}  // namespace tessera
