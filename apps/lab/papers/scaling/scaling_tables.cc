#include "tessera/apps/lab/papers/scaling/scaling_tables.h"

#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"
#include "tessera/apps/lab/papers/scaling/scaling_figures.h"

namespace tessera {
namespace {

std::string Decimals(double value, int decimals) { return absl::StrFormat("%.*f", decimals, value); }
std::string Range(const PowerRange& range, int decimals) {
  return absl::StrFormat("%.*f (%.*f to %.*f)", decimals, range.value, decimals, range.low, decimals, range.high);
}

// Makes a table of `texts`, then a column for each number of rows.
ReportTable RowsTable(std::string name, std::string title, std::vector<std::string> texts, std::vector<std::string> notes) {
  ReportTable table = {.title = std::move(title), .notes = std::move(notes), .columns = std::move(texts), .name = std::move(name)};
  table.texts = static_cast<int>(table.columns.size());
  for (const int rows : kScalingRows) table.columns.push_back(absl::StrCat(rows));
  return table;
}

ReportTable FiguresTable(const std::vector<ComparedFigure>& figures) {
  ReportTable table = {.title = "What the paper's text has in numbers",
                       .columns = {"what", "unit", "counted", "published", "predicted", "error", "paper"},
                       .texts = 3,
                       .name = "figures"};
  for (const ComparedFigure& figure : figures) {
    table.rows.push_back({figure.what, figure.unit, figure.counted ? "yes" : "no", PublishedText(figure), PredictedText(figure),
                          ErrorText(figure), figure.source});
    if (figure.prediction.has_value()) table.notes.push_back(absl::StrCat(figure.what, ": ", figure.prediction->asked, "."));
    if (!figure.reason.empty()) table.notes.push_back(absl::StrCat(figure.what, ", not counted: ", figure.reason, "."));
  }
  return table;
}

ReportTable CountsTable(const std::vector<ComparedFigure>& figures) {
  const FigureCounts counts = CountFigures(figures);
  return {.title = "How near",
          .columns = {"figures", "judged", absl::StrFormat("within %.0f %%", 100 * kNearEnough), "missed", "median error"},
          .texts = 0,
          .rows = {{absl::StrCat(counts.counted), absl::StrCat(counts.judged), absl::StrCat(counts.within), absl::StrCat(counts.missed),
                    MedianText(counts.median_error)}},
          .name = kSummaryTable};
}

ReportTable StepsTable(const ScalingReport& report, std::string name, std::string title, std::vector<std::string> notes,
                       const std::function<std::string(const ScalingSteps&, size_t)>& cell) {
  ReportTable table = RowsTable(std::move(name), std::move(title), {"phone", "model"}, std::move(notes));
  for (const ScalingSteps& steps : report.steps) {
    std::vector<std::string>& row = table.rows.emplace_back(std::vector<std::string>{steps.model.phone, steps.model.shape});
    for (size_t i = 0; i < steps.passes.size(); ++i) row.push_back(cell(steps, i));
  }
  return table;
}

void AddSteps(const ScalingReport& report, std::vector<ReportTable>& tables) {
  tables.push_back(StepsTable(report, "latency", "Step latency over the batch: ms, the head on the CPU included",
                              {absl::StrCat("At ", report.assumptions.step_positions, " positions.")},
                              [](const ScalingSteps& steps, size_t i) { return Decimals(1e3 * steps.passes[i].seconds, 2); }));
  tables.push_back(StepsTable(report, "figure11", "Throughput over the batch (figure 11): tokens per second", {"The figure is a picture."},
                              [](const ScalingSteps& steps, size_t i) { return Decimals(steps.TokensPerSecond(i), 1); }));
  tables.push_back(StepsTable(report, "head", "The head's share of a step: %", {},
                              [](const ScalingSteps& steps, size_t i) { return Decimals(100 * steps.HeadShare(i), 1); }));
}

ReportTable AttentionTable(const ScalingReport& report) {
  ReportTable table = {.title = absl::StrCat("Attention in a step (figure 8): ms, ", kMeasuredPhone, ", qwen2.5-1.5b, 4096 positions"),
                       .notes = {"All layers together. Products and softmax follow one another; keys and values are read beside them. "
                                 "The figure is a picture."},
                       .columns = {"rows", "attention", "products", "softmax", "reading", "calls"},
                       .texts = 0,
                       .name = "figure8"};
  for (const ScalingAttention& attention : report.attention) {
    const auto busy = [&](Bound part) { return Decimals(1e3 * attention.cost.busy[static_cast<size_t>(part)], 2); };
    table.rows.push_back({absl::StrCat(attention.rows), Decimals(1e3 * attention.cost.seconds, 2), busy(Bound::kMatrix),
                          busy(Bound::kVector), busy(Bound::kDma), busy(Bound::kCall)});
  }
  return table;
}

ReportTable PromptsTable(const ScalingReport& report) {
  ReportTable table = {.title = absl::StrCat("Decoding behind prompts (figure 17): tokens per second, ", kMeasuredPhone),
                       .notes = {"All samples share the prompt. The figure is a picture."},
                       .columns = {"model", "rows"},
                       .name = "figure17"};
  for (const int tokens : kScalingPrompts) table.columns.push_back(absl::StrCat(tokens));
  table.columns.push_back("most by least");
  for (const ScalingPrompts& prompts : report.prompts) {
    std::vector<std::string>& row =
        table.rows.emplace_back(std::vector<std::string>{prompts.shape, absl::StrCat(prompts.rows)});
    for (const double seconds : prompts.seconds) row.push_back(Decimals(prompts.rows / seconds, 1));
    row.push_back(Decimals(prompts.seconds.front() / prompts.seconds.back(), 3));
  }
  return table;
}

ReportTable PowerTable(const ScalingReport& report) {
  ReportTable table = RowsTable("figure12", absl::StrCat("Power and energy over the batch (figure 12), ", kMeasuredPhone),
                                {"model", "what"},
                                {"In brackets: by any powers of the parts that the profile allows. They are guesses within what the whole "
                                 "phone takes, so that ratios alone count."});
  const auto add = [&](const ScalingPower& power, const char* what, const std::function<std::string(size_t)>& cell) {
    std::vector<std::string>& row = table.rows.emplace_back(std::vector<std::string>{power.shape, what});
    for (size_t i = 0; i < power.watts.size(); ++i) row.push_back(cell(i));
  };
  for (const ScalingPower& power : report.powers) {
    add(power, "power, W", [&](size_t i) { return Range(power.watts[i], 2); });
    add(power, "energy of a step, one row: 1", [&](size_t i) { return Range(power.energy[i], 3); });
    add(power, "energy of a token, one row: 1", [&](size_t i) { return Decimals(power.energy[i].value / kScalingRows[i], 3); });
  }
  table.notes.push_back(absl::StrCat("A step of 8 rows of the 1.5B by one of a row of the 3B: ", Range(report.energy_beside, 3),
                                     "; the paper: less than 1 (section 7.2.3)."));
  return table;
}

ReportTable MemoryTable(const ScalingReport& report) {
  ReportTable table = {.title = absl::StrCat("Memory and sessions, context ", kScalingContext),
                       .notes = {"The paper runs models of 3B and more on no 8 Gen 2, and does not say how its 7B fits on the others."},
                       .columns = {"phone", "model", "NPU, MiB", "all, MiB", "sessions"},
                       .texts = 2,
                       .name = "memory"};
  for (const ScalingMemory& memory : report.memory) {
    table.rows.push_back({memory.model.phone, memory.model.shape, absl::StrCat(memory.npu_bytes >> 20), absl::StrCat(memory.bytes >> 20),
                          absl::StrCat(memory.sessions)});
  }
  return table;
}

std::vector<std::string> NamesOf(const ScalingPair& pair) { return {pair.phone, pair.small, pair.large}; }

ReportTable PairsTable(const ScalingReport& report) {
  const ScalingAssumptions& assumed = report.assumptions;
  ReportTable table = RowsTable(
      "figure10", "Samples of a smaller model beside one of a larger (figure 10 without accuracy), by numbers of samples",
      {"phone", "smaller", "larger", "what"},
      {absl::StrFormat("Questions of %d and answers of %d tokens are assumed, the same for all models.", assumed.prompt_tokens,
                       assumed.answer_tokens),
       assumed.all_samples ? "Each row attends over the cache of all samples: so the increased context of section 7.2.1 is read."
                           : "Each row attends over its own sample.",
       absl::StrCat("With prompt and scorer: the prompt is read, and ", kScorerShape,
                    " reads all samples; the paper's cost is decoding alone."),
       absl::StrCat("Most: so many samples take no longer than one of the larger; at most ", kMostScalingSamples,
                    ", the rows of a tile. A beam search of 4 x 4 has passes of 16 rows."),
       "What the table cannot say is whether the samples are right as often: see break-even."});
  table.columns.push_back("most");
  for (const ScalingPair& pair : report.pairs) {
    const auto add = [&](const char* what, double (ScalingPair::*ratio)(int) const, std::string most) {
      std::vector<std::string>& row = table.rows.emplace_back(NamesOf(pair));
      row.push_back(what);
      for (const int samples : kScalingRows) row.push_back(Decimals((pair.*ratio)(samples), 3));
      row.push_back(std::move(most));
    };
    add("time of decoding", &ScalingPair::TimeRatio, absl::StrCat(pair.MostSamples()));
    add("energy of decoding", &ScalingPair::EnergyRatio, "");
    add("time with prompt and scorer", &ScalingPair::WholeRatio, "");
  }
  return table;
}

ReportTable OtherwiseTable(const ScalingReport& report) {
  const int most = kScalingRows[std::size(kScalingRows) - 1];
  ReportTable table = {.title = absl::StrCat("The time of ", most, " samples by one of the larger, where something is assumed otherwise"),
                       .columns = {"phone", "smaller", "larger"},
                       .texts = 3,
                       .name = "otherwise"};
  for (const ScalingOtherwise& otherwise : report.otherwise) table.columns.push_back(otherwise.what);
  for (size_t i = 0; i < report.pairs.size(); ++i) {
    std::vector<std::string>& row = table.rows.emplace_back(NamesOf(report.pairs[i]));
    for (const ScalingOtherwise& otherwise : report.otherwise) row.push_back(Decimals(otherwise.ratios[i], 3));
  }
  return table;
}

ReportTable BreakEvenTable(const ScalingReport& report) {
  ReportTable table = RowsTable(
      "break_even", "Break-even: what of the gap between both models' one sample has to be gained, %, by numbers of samples",
      {"phone", "smaller", "larger"},
      {"A(smaller) + share x (A(larger) - A(smaller)) is as right as what the same time buys on the line between one sample of each. Above "
       "it, samples are the better use of time; a share above 100 % takes longer than the larger model.",
       "Section 7.2.1 says that best of N brings the 1.5B and the 3B above the larger model's one sample, which is a share of 100 % and "
       "more; section 7.2.3 that 8 samples of the 1.5B bring about 100 %. By beam search the 1.5B and the 1B are comparable to their 3B, "
       "or slightly better. How much above is in pictures."});
  for (const ScalingPair& pair : report.pairs) {
    std::vector<std::string>& row = table.rows.emplace_back(NamesOf(pair));
    for (const int samples : kScalingRows) {
      const std::optional<double> share = pair.GapShare(samples);
      row.push_back(share.has_value() ? Decimals(100 * *share, 1) : "-");
    }
  }
  return table;
}

ReportTable AccuraciesTable(const ScalingReport& report) {
  ReportTable table = RowsTable("accuracies", "The same as accuracies, where the paper's text says what the smaller model answers right: %",
                                {"phone", "smaller", "larger", "set", "paper"}, {"A: the larger model's with one sample."});
  for (const BreakEven& one : BreakEvens(report)) {
    std::vector<std::string>& row = table.rows.emplace_back(NamesOf(*one.pair));
    row.push_back(one.set);
    row.push_back(one.source);
    row.insert(row.end(), one.accuracies.begin(), one.accuracies.end());
  }
  return table;
}

// Curves of --curves, on the measured phone.
ReportTable CurveTable(const ScalingReport& report, const AccuracyCurve& curve) {
  ReportTable table = {.title = absl::StrCat("Accuracy by ", curve.name(), ": judged here, and not the paper's"),
                       .notes = {absl::StrCat("Last columns: the largest gap in points between one sample of both models at which such a "
                                              "gain breaks even on the pair's times, ", kMeasuredPhone,
                                              ". They take it that the pair's smaller model would gain as much.")},
                       .columns = {"way", "samples", "right, %", "over one sample", "95 % of that"},
                       .name = "curves"};
  for (const ScalingPair& pair : report.pairs) {
    if (pair.phone == kMeasuredPhone) table.columns.push_back(absl::StrCat(pair.small, " to ", pair.large));
  }
  for (const AccuracyPoint& point : curve.points) {
    std::vector<std::string>& row = table.rows.emplace_back(std::vector<std::string>{
        point.way, absl::StrCat(point.samples), Decimals(100 * point.right.mean, 1), Decimals(100 * point.gain.mean, 1),
        absl::StrFormat("%.1f to %.1f", 100 * point.gain.low, 100 * point.gain.high)});
    for (const ScalingPair& pair : report.pairs) {
      if (pair.phone == kMeasuredPhone) row.push_back(LargestGap(point, pair));
    }
  }
  return table;
}

ReportTable NotAddressedTable(const ScalingReport& report) {
  ReportTable table = {.title = "What is not addressed, or cannot be reproduced",
                       .columns = {"what", "why"},
                       .texts = 2,
                       .name = "not_addressed"};
  for (const NotAddressed& one : kScalingNotAddressed) table.rows.push_back({one.what, one.why});
  if (report.curves.empty()) {
    table.rows.push_back({"accuracy of models that are here", "missing: no --curves=FILE of tessera_scale judge --json"});
  }
  return table;
}

}  // namespace

std::vector<ReportTable> ScalingTables(const ScalingReport& report) {
  const std::vector<ComparedFigure> figures = ScalingFigures(report);
  std::vector<ReportTable> tables = {FiguresTable(figures), CountsTable(figures)};
  AddSteps(report, tables);
  for (const auto table : {AttentionTable, PromptsTable, PowerTable, MemoryTable, PairsTable, OtherwiseTable, BreakEvenTable,
                           AccuraciesTable}) {
    tables.push_back(table(report));
  }
  for (const AccuracyCurve& curve : report.curves) tables.push_back(CurveTable(report, curve));
  for (ReportTable& table : OrderTables(report.orders)) tables.push_back(std::move(table));
  tables.push_back(NotAddressedTable(report));
  return tables;
}

}  // namespace tessera
