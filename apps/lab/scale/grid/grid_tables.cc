// The tables of a grid's report.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/scale/grid/grid_methods.h"
#include "tessera/apps/lab/scale/grid/grid_report.h"
#include "tessera/base/quoted.h"

namespace tessera {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.1f", 100 * share); }
std::string Range(const Estimate& estimate) { return absl::StrCat(Percent(estimate.low), " to ", Percent(estimate.high)); }

// Returns three digits, or words for an unknown figure.
std::string Figure(const std::optional<double>& figure) { return figure.has_value() ? absl::StrFormat("%.3g", *figure) : "not known"; }

bool Has(const std::vector<GridClock>& clocks, GridClock::Kind kind) {
  return std::any_of(clocks.begin(), clocks.end(), [&](const GridClock& clock) { return clock.kind == kind; });
}

std::optional<double> FigureOf(const GridConfiguration& configuration, GridClock::Kind kind) {
  if (kind == GridClock::Kind::kHost) {
    return configuration.host.has_value() ? std::optional<double>(configuration.host->seconds) : std::nullopt;
  }
  if (!configuration.result.phone.has_value()) return std::nullopt;
  const PhoneCost& cost = configuration.result.phone->cost;
  return kind == GridClock::Kind::kPhone ? cost.seconds() : cost.joules;
}

// Returns the kinds of clocks by which no other configuration beats this one.
std::string FrontiersOf(const GridView& view, const std::string& task, const std::vector<GridClock>& clocks, size_t place) {
  constexpr const char* kWords[] = {"here", "phone", "energy"};
  std::string words;
  for (const GridClock& clock : clocks) {
    const std::vector<size_t> frontier = view.Frontier(task, clock);
    if (std::find(frontier.begin(), frontier.end(), place) == frontier.end()) continue;
    const char* const word = kWords[static_cast<size_t>(clock.kind)];
    // The word stands once for several machines.
    if (!absl::StrContains(words, word)) absl::StrAppend(&words, words.empty() ? "" : ", ", word);
  }
  return words.empty() ? "-" : words;
}

void AddOnce(std::string note, ReportTable& table) {
  if (std::find(table.notes.begin(), table.notes.end(), note) == table.notes.end()) table.notes.push_back(std::move(note));
}

// Adds notes on scorers: the time of scorers that run a model is only in measured times of beam.
void AddScorerNotes(const GridView& view, const std::string& task, ReportTable& table) {
  for (const size_t place : view.ConfigurationsOf(task)) {
    const GridResult& result = view.configurations()[place].result;
    if (result.scorer.empty()) continue;
    AddOnce(absl::StrCat("weighted, best_of_n and beam choose by ", Printable(result.scorer),
                         IsOwnFigure(result.scorer) ? "." : ", which runs a model: what that takes is only in measured times of beam."),
            table);
  }
}

// Adds notes that explain the columns of the clocks, and name unknown figures.
void AddClockNotes(const GridView& view, const std::string& task, const std::vector<GridClock>& clocks, ReportTable& table) {
  for (const GridClock& clock : clocks) {
    if (clock.kind == GridClock::Kind::kHost) {
      table.notes.push_back(absl::StrCat("s here: measured on ", Printable(clock.name),
                                         ", one question at a time with all its samples together, the mean of a few questions."));
    } else if (clock.kind == GridClock::Kind::kPhone) {
      table.notes.push_back(absl::StrCat("s phone: modeled, ", Printable(clock.name),
                                         "; the prompt, then passes with a row for each sample that goes on. Texts are this machine's."));
    } else {
      table.notes.push_back("J phone: by powers of the phone's parts that are assumed: compare them alone, by one phone.");
    }
  }
  for (const size_t place : view.ConfigurationsOf(task)) {
    const GridConfiguration& configuration = view.configurations()[place];
    const std::string& model = view.runs()[configuration.run].about.model;
    if (!configuration.result.phone.has_value() || configuration.result.phone->shape == model) continue;
    AddOnce(absl::StrCat("The phone's figures of ", view.ModelOf(configuration.run), " are those of the shape ",
                         Printable(configuration.result.phone->shape), "."),
            table);
  }
  AddScorerNotes(view, task, table);
  if (Has(clocks, GridClock::Kind::kPhone)) return;
  table.notes.push_back("Energy is not known: no phone was modeled, and there is no figure of this machine's.");
}

// Adds a note on the load from other programs during the measurement, if that load could spoil the times.
void AddBusyNote(const GridView& view, const std::string& task, ReportTable& table) {
  constexpr double kMuch = 0.2;
  double most = 0;
  bool known = true, any = false;
  for (const size_t place : view.ConfigurationsOf(task)) {
    const std::optional<HostTime>& host = view.configurations()[place].host;
    if (!host.has_value()) continue;
    any = true;
    known = known && host->other_cpus.has_value();
    most = std::max(most, host->other_cpus.value_or(0));
  }
  if (!any) return;
  if (!known) table.notes.push_back("Whether other programs were at work while this was measured is not known.");
  if (most > kMuch) table.notes.push_back(absl::StrFormat("Other programs kept up to %.1f CPUs busy while this was measured.", most));
}

}  // namespace

std::string ClockLabel(const GridClock& clock) {
  if (clock.kind == GridClock::Kind::kHost) return absl::StrCat("seconds per question on ", Printable(clock.name));
  if (clock.kind == GridClock::Kind::kPhone) return absl::StrCat("seconds per question by the modeled phone ", Printable(clock.name));
  return absl::StrCat("J per question by the modeled phone ", Printable(clock.name), ", powers assumed");
}

ReportTable GridConfigurationTable(const GridView& view, const std::string& task) {
  const std::vector<GridClock> clocks = view.ClocksOf(task);
  const std::vector<size_t> places = view.ConfigurationsOf(task);
  const bool host = Has(clocks, GridClock::Kind::kHost), phone = Has(clocks, GridClock::Kind::kPhone);
  ReportTable table = {.title = absl::StrCat(task, ": ", view.configurations()[places[0]].result.questions, " questions"),
                       .columns = {"configuration", "frontier", "right, %", "95 % of", "over one", "95 % of that", "tokens", "passes"},
                       .texts = 2};
  if (host) table.columns.push_back("s here");
  if (phone) table.columns.insert(table.columns.end(), {"s phone", "J phone", "W phone"});
  for (const size_t place : places) {
    const GridConfiguration& configuration = view.configurations()[place];
    const GridResult& result = configuration.result;
    const bool one = result.method == "one";
    std::vector<std::string> row = {view.LabelOf(place), FrontiersOf(view, task, clocks, place), Percent(result.right.mean),
                                    Range(result.right), one ? "-" : Percent(result.gain.mean), one ? "-" : Range(result.gain),
                                    absl::StrFormat("%.0f", result.tokens), absl::StrFormat("%.0f", result.passes)};
    if (host) row.push_back(Figure(FigureOf(configuration, GridClock::Kind::kHost)));
    if (phone) {
      const std::optional<double> seconds = FigureOf(configuration, GridClock::Kind::kPhone);
      const std::optional<double> joules = FigureOf(configuration, GridClock::Kind::kEnergy);
      const bool rated = seconds.value_or(0) > 0 && joules.has_value();
      const std::optional<double> watts = rated ? std::optional<double>(*joules / *seconds) : std::nullopt;
      row.insert(row.end(), {Figure(seconds), Figure(joules), Figure(watts)});
    }
    table.rows.push_back(std::move(row));
  }
  table.notes = {"frontier: no other configuration is as right for less.",
                 "right: the share of questions, over orders of their samples; intervals over questions drawn again.",
                 "tokens: of all samples of a question; passes: those after the prompt, the tokens of its longest sample."};
  AddClockNotes(view, task, clocks, table);
  AddBusyNote(view, task, table);
  return table;
}

ReportTable GridCrossingTable(const GridView& view, const std::string& task) {
  ReportTable table = {.title = absl::StrCat(task, ": where a smaller model beats a larger one"),
                       .columns = {"smaller", "larger", "by", "right, %", "larger's", "cost", "larger's", "intervals"},
                       .texts = 3};
  for (const GridClock& clock : view.ClocksOf(task)) {
    for (const Crossing& crossing : view.Crossings(task, clock)) {
      const GridResult &smaller = view.configurations()[crossing.smaller].result, &larger = view.configurations()[crossing.larger].result;
      table.rows.push_back({view.LabelOf(crossing.smaller), view.LabelOf(crossing.larger), ClockLabel(clock), Percent(smaller.right.mean),
                            Percent(larger.right.mean), Figure(view.CostOf(crossing.smaller, clock)),
                            Figure(view.CostOf(crossing.larger, clock)), crossing.apart ? "apart" : "overlap"});
    }
  }
  if (table.rows.empty()) table.notes.push_back("Nowhere, among these configurations.");
  table.notes.push_back("Beats: right at least as often for no more, by mean values. Models are larger by their parameters. Beside each "
                        "larger configuration stands the cheapest smaller one that beats it.");
  return table;
}

ReportTable GridRunTable(const GridView& view) {
  ReportTable table = {.title = "What this was made from", .columns = {"grid", "what", "is"}, .texts = 3};
  for (size_t i = 0; i < view.runs().size(); ++i) {
    const GridAbout& about = view.runs()[i].about;
    const std::string name = view.ModelOf(i);
    const auto add = [&](const std::string& what, const std::string& is) { table.rows.push_back({name, Printable(what), Printable(is)}); };
    add("command", about.command);
    add("model", about.model);
    add("sha256", about.model_sha256);
    add("parameters", absl::StrFormat("%.1f million", static_cast<double>(about.parameters) * 1e-6));
    for (const GridTask& task : about.tasks) {
      add(task.task, absl::StrCat("the first ", task.questions, " of ", task.problems, " problems, sha256 of these ", task.sha256));
    }
    for (const auto& [setting, value] : about.settings) add(setting, value);
  }
  return table;
}

}  // namespace tessera
