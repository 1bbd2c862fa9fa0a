#include "tessera/apps/lab/lever/lever_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/lever/lever_pruning.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/spread.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr auto kRight = Table::Align::kRight;
constexpr char kPlain[] = "flash_ar", kLever[] = "lever";

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }
std::string Ratio(const std::optional<double>& ratio) { return ratio.has_value() ? absl::StrFormat("%.2f", *ratio) : "-"; }

double MedianRate(const std::vector<LeverTotals>& repetitions) {
  std::vector<double> rates;
  for (const LeverTotals& totals : repetitions) rates.push_back(totals.TokensPerSecond());
  return MedianOf(rates);
}

double MeanRate(const LeverFindings& findings, size_t system) {
  std::vector<double> rates;
  for (const auto& repetitions : findings.totals[system]) rates.push_back(MedianRate(repetitions));
  return GeometricMean(rates);
}

// Returns the system that is shown under this name.
std::optional<size_t> ShownAs(const LeverFindings& findings, absl::string_view name) {
  for (const size_t system : BestVariants(findings)) {
    if (findings.systems[system].system == name) return system;
  }
  return std::nullopt;
}

// Returns the ratio of two systems' speeds. nullopt: one was not measured, or generated nothing.
std::optional<double> RatioOf(const LeverFindings& findings, std::optional<size_t> fast, std::optional<size_t> slow, size_t set) {
  if (!fast.has_value() || !slow.has_value()) return std::nullopt;
  std::vector<double> ratios;
  for (size_t repetition = 0; repetition < findings.totals[*fast][set].size(); ++repetition) {
    const double slow_rate = findings.totals[*slow][set][repetition].TokensPerSecond();
    if (slow_rate > 0) ratios.push_back(findings.totals[*fast][set][repetition].TokensPerSecond() / slow_rate);
  }
  return ratios.empty() ? std::nullopt : std::optional<double>(MedianOf(ratios));
}

std::optional<double> MeanRatio(const LeverFindings& findings, std::optional<size_t> fast, std::optional<size_t> slow) {
  std::vector<double> ratios;
  for (size_t set = 0; set < findings.sets.size(); ++set) {
    const std::optional<double> ratio = RatioOf(findings, fast, slow, set);
    if (!ratio.has_value()) return std::nullopt;
    ratios.push_back(*ratio);
  }
  return GeometricMean(ratios);
}

LeverTotals SumOf(const std::vector<LeverTotals>& repetitions) {
  LeverTotals sum;
  for (const LeverTotals& totals : repetitions) sum.Add(totals);
  return sum;
}

void AddRow(const std::string& set, const LeverFindings& findings, size_t system, const LeverFigures& figures, Table& table) {
  const LeverTotals& totals = figures.totals;
  table.AddRow({set, findings.systems[system].variant, absl::StrFormat("%.2f", figures.tokens_per_second),
                absl::StrFormat("%.2f", totals.TokensPerPass()), absl::StrFormat("%.1f", totals.RowsPerPass()),
                Percent(totals.DraftShare()), findings.streams ? Percent(totals.StallShare()) : "-", Ratio(figures.of_flash_ar),
                Ratio(figures.lever_over)});
}

std::string SetsText(const LeverFindings& findings) {
  Table table({{"texts"}, {"system"}, {"tokens/s", kRight}, {"per pass", kRight}, {"rows", kRight}, {"drafting", kRight},
               {"waits for reading", kRight}, {"of flash_ar", kRight}, {"lever is", kRight}});
  const std::vector<size_t> shown = BestVariants(findings);
  for (size_t set = 0; set < findings.sets.size(); ++set) {
    for (const size_t system : shown) AddRow(findings.sets[set].name, findings, system, FiguresOf(findings, system, set), table);
  }
  for (const size_t system : shown) AddRow("geometric mean", findings, system, FiguresOverSets(findings, system), table);
  const char* const resident = findings.streams ? "" : "all weights are in memory: no pass reads\n";
  const char* const words = "per pass: tokens; rows: of a pass, without pruned ones; lever is: so many times as fast\n";
  return absl::StrCat(table.ToString(), words, resident);
}

// Returns a table of all variants, if a system has several.
std::string SweepText(const LeverFindings& findings) {
  const std::vector<size_t> shown = BestVariants(findings);
  if (shown.size() == findings.systems.size()) return "";
  std::vector<Table::Column> columns = {{"tokens/s of each"}};
  for (const LeverSet& set : findings.sets) columns.push_back({set.name, kRight});
  columns.push_back({"geometric mean", kRight});
  columns.push_back({""});
  Table table(columns);
  for (size_t system = 0; system < findings.systems.size(); ++system) {
    if (findings.systems[system].variant == findings.systems[system].system) continue;
    std::vector<std::string> cells = {findings.systems[system].variant};
    for (const auto& repetitions : findings.totals[system]) cells.push_back(absl::StrFormat("%.2f", MedianRate(repetitions)));
    cells.push_back(absl::StrFormat("%.2f", MeanRate(findings, system)));
    cells.push_back(std::find(shown.begin(), shown.end(), system) != shown.end() ? "shown above" : "");
    table.AddRow(cells);
  }
  return absl::StrCat("\n", table.ToString());
}

std::string MemoryText(const LeverMemory& memory) {
  Table table({{"memory"}, {"size", kRight}, {"of the weights", kRight}});
  const auto add = [&](const char* what, int64_t bytes) {
    const double share = static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(memory.weights, 1));
    table.AddRow({what, FormatByteSize(bytes), memory.weights > 0 ? Percent(share) : "-"});
  };
  if (memory.draft > 0) add("draft", memory.draft);
  if (memory.predictors > 0) add("exit predictors", memory.predictors);
  if (memory.weights > 0) {
    add("ring", memory.ring);
    add("pinned", memory.pins);
  }
  if (memory.pins_instead > 0) add("pinned instead of the draft", memory.pins_instead);
  return memory.draft > 0 || memory.weights > 0 ? absl::StrCat("\n", table.ToString()) : "";
}

std::string AutoText(const LeverFindings& findings) {
  if (findings.auto_is.empty()) return "";
  if (!findings.predicted.has_value()) return absl::StrCat("auto is ", findings.auto_is, ": nothing could be predicted\n");
  const auto rate = [&](MemoryUse use) { return findings.predicted->of(use).tokens_per_second; };
  return absl::StrFormat("auto is %s; predicted: %.3g tokens/s with the draft, %.3g with pins in its place\n", findings.auto_is,
                         rate(MemoryUse::kBoth), rate(MemoryUse::kRetrieval));
}

std::string LeftOutText(const LeverFindings& findings) {
  std::string text;
  for (const LeverSet& set : findings.sets) {
    if (set.left_out == 0) continue;
    absl::StrAppend(&text, set.name, ": ", set.left_out, " of ", set.left_out + static_cast<int>(set.prompts.size()),
                    " prompts are too long for the context\n");
  }
  return text;
}

const ReliabilityTable& TableOfLever(const LeverFindings& findings) {
  const std::optional<size_t> lever = ShownAs(findings, kLever);
  CHECK(lever.has_value());
  return findings.tables[*lever];
}

std::string ReliabilityText(const ReliabilityTable& table) {
  Table shown({{"lever's guesses"}, {"expected", kRight}, {"came true", kRight}, {"of", kRight}});
  for (size_t bin = 0; bin < table.bins().size(); ++bin) {
    const ReliabilityTable::Bin& of = table.bins()[bin];
    if (of.count == 0) continue;
    const double width = 1.0 / ReliabilityTable::kBins, low = static_cast<double>(bin) * width;
    shown.AddRow({absl::StrFormat("%.2f to %.2f", low, low + width), absl::StrFormat("%.3f", of.expected()),
                  absl::StrFormat("%.3f", of.observed()), absl::StrCat(of.count)});
  }
  return absl::StrCat("\n", shown.ToString(), "apart by ", absl::StrFormat("%.3f", table.Error()), " on average, over ", table.count(),
                      " guesses\n");
}

class Writer {
 public:
  Writer(JsonWriter& json, const LeverFindings& findings) : json_(json), findings_(findings) {}

  void Systems() {
    const std::vector<size_t> shown = BestVariants(findings_);
    json_.Key("systems").BeginArray();
    for (size_t system = 0; system < findings_.systems.size(); ++system) {
      const LeverSpec& spec = findings_.systems[system];
      json_.BeginObject().Key("system").String(spec.system).Key("variant").String(spec.variant);
      json_.Key("shown").Bool(std::find(shown.begin(), shown.end(), system) != shown.end());
      WriteLeverPruning(json_.Key("pruning"), findings_, system, ShownAs(findings_, kLever));
      json_.Key("sets").BeginArray();
      for (size_t set = 0; set < findings_.sets.size(); ++set) {
        json_.BeginObject().Key("set").String(findings_.sets[set].name);
        Figures(FiguresOf(findings_, system, set));
        json_.EndObject();
      }
      json_.EndArray().Key("all").BeginObject();
      Figures(FiguresOverSets(findings_, system));
      json_.EndObject().EndObject();
    }
    json_.EndArray();
  }

  void Sets() {
    json_.Key("sets").BeginArray();
    for (const LeverSet& set : findings_.sets) {
      json_.BeginObject().Key("name").String(set.name).Key("prompts").Int(static_cast<int64_t>(set.prompts.size()));
      json_.Key("left_out").Int(set.left_out).EndObject();
    }
    json_.EndArray();
  }

  void Memory() {
    const LeverMemory& memory = findings_.memory;
    json_.Key("memory_bytes").BeginObject().Key("draft").Int(memory.draft).Key("predictors").Int(memory.predictors);
    json_.Key("weights").Int(memory.weights);
    json_.Key("ring").Int(memory.ring).Key("pinned").Int(memory.pins).Key("pinned_instead").Int(memory.pins_instead);
    json_.Key("budget").Int(memory.budget).EndObject();
  }

  void Auto() {
    if (findings_.auto_is.empty()) return;
    json_.Key("auto").BeginObject().Key("is").String(findings_.auto_is).Key("predicted");
    if (!findings_.predicted.has_value()) {
      json_.Null().EndObject();
      return;
    }
    json_.BeginObject();
    for (const MemoryUse use : kMemoryUses) {
      json_.Key(MemoryUseName(use)).Double(findings_.predicted->of(use).tokens_per_second, 4);
    }
    json_.EndObject().EndObject();
  }

  void Reliability(const ReliabilityTable& table) {
    json_.Key("reliability").BeginObject().Key("error").Double(table.Error(), 6).Key("guesses").Int(table.count());
    json_.Key("bins").BeginArray();
    for (const ReliabilityTable::Bin& bin : table.bins()) {
      if (bin.count == 0) continue;
      json_.BeginObject().Key("expected").Double(bin.expected(), 6).Key("observed").Double(bin.observed(), 6);
      json_.Key("guesses").Int(bin.count).EndObject();
    }
    json_.EndArray().EndObject();
  }

 private:
  void Figures(const LeverFigures& figures) {
    const LeverTotals& totals = figures.totals;
    Number("tokens_per_second", figures.tokens_per_second);
    json_.Key("tokens").Int(totals.tokens).Key("passes").Int(totals.passes);
    Number("tokens_per_pass", totals.TokensPerPass());
    Number("rows_per_pass", totals.RowsPerPass());
    Number("draft_share", totals.DraftShare());
    Known("reading_share", findings_.streams ? std::optional<double>(totals.StallShare()) : std::nullopt);
    Known("of_flash_ar", figures.of_flash_ar);
    Known("lever_over", figures.lever_over);
  }
  void Number(const char* name, double value) { json_.Key(name).Double(value, 6); }
  void Known(const char* name, const std::optional<double>& value) {
    json_.Key(name);
    value.has_value() ? json_.Double(*value, 6) : json_.Null();
  }

  JsonWriter& json_;
  const LeverFindings& findings_;
};

}  // namespace

std::vector<size_t> BestVariants(const LeverFindings& findings) {
  std::vector<size_t> best;
  for (size_t system = 0; system < findings.systems.size(); ++system) {
    const bool next = !best.empty() && findings.systems[best.back()].system == findings.systems[system].system;
    if (!next) best.push_back(system);
    else if (MeanRate(findings, system) > MeanRate(findings, best.back())) best.back() = system;
  }
  return best;
}

LeverFigures FiguresOf(const LeverFindings& findings, size_t system, size_t set) {
  const std::vector<LeverTotals>& repetitions = findings.totals[system][set];
  return {.tokens_per_second = MedianRate(repetitions),
          .totals = SumOf(repetitions),
          .of_flash_ar = RatioOf(findings, system, ShownAs(findings, kPlain), set),
          .lever_over = RatioOf(findings, ShownAs(findings, kLever), system, set)};
}

LeverFigures FiguresOverSets(const LeverFindings& findings, size_t system) {
  LeverTotals sum;
  for (const auto& repetitions : findings.totals[system]) sum.Add(SumOf(repetitions));
  return {.tokens_per_second = MeanRate(findings, system),
          .totals = sum,
          .of_flash_ar = MeanRatio(findings, system, ShownAs(findings, kPlain)),
          .lever_over = MeanRatio(findings, ShownAs(findings, kLever), system)};
}

std::string LeverText(const LeverFindings& findings, const LeverShow& show) {
  return absl::StrCat(SetsText(findings), AutoText(findings), LeftOutText(findings), SweepText(findings),
                      LeverPruningText(findings, ShownAs(findings, kLever)), MemoryText(findings.memory),
                      show.reliability ? ReliabilityText(TableOfLever(findings)) : "");
}

void WriteLever(JsonWriter& json, const LeverFindings& findings, const LeverShow& show) {
  json.BeginObject();
  Writer writer(json, findings);
  writer.Systems();
  writer.Sets();
  json.Key("streams").Bool(findings.streams);
  writer.Memory();
  writer.Auto();
  if (show.reliability) writer.Reliability(TableOfLever(findings));
  json.EndObject();
}

std::string ReliabilitySvg(const LeverFindings& findings) {
  PlotCurve observed = {.name = "lever's guesses", .points = {}};
  for (const ReliabilityTable::Bin& bin : TableOfLever(findings).bins()) {
    if (bin.count > 0) observed.points.emplace_back(bin.expected(), bin.observed());
  }
  const PlotCurve expected = {.name = "as expected", .points = {{0, 0}, {1, 1}}, .dashed = true};
  std::vector<PlotCurve> curves = {expected};
  if (!observed.points.empty()) curves.insert(curves.begin(), std::move(observed));
  return PlotSvg({.title = "How often guesses came true", .x_label = "expected", .y_label = "observed", .curves = std::move(curves)});
}

}  // namespace tessera
