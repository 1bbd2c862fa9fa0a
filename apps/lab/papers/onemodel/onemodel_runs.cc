#include "tessera/apps/lab/papers/onemodel/onemodel_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tessera {
namespace {

constexpr char kAuto[] = "auto";

using Runs = std::vector<const Ds2dRun*>;

// Groups runs by Ds2dRun::of, in the order in which the names come first.
std::vector<std::pair<std::string, Runs>> ByModel(absl::Span<const Ds2dRun> runs) {
  std::vector<std::pair<std::string, Runs>> models;
  for (const Ds2dRun& run : runs) {
    const auto same = [&](const auto& other) { return other.first == run.of(); };
    auto found = std::find_if(models.begin(), models.end(), same);
    if (found == models.end()) found = models.insert(models.end(), {run.of(), {}});
    found->second.push_back(&run);
  }
  return models;
}

std::vector<std::string> TasksOf(const Runs& runs) {
  std::vector<std::string> tasks;
  for (const Ds2dRun* const run : runs) {
    for (const Ds2dTask& task : run->tasks) {
      if (std::find(tasks.begin(), tasks.end(), task.name) == tasks.end()) tasks.push_back(task.name);
    }
  }
  return tasks;
}

// Returns null if the run does not have the task.
const Ds2dTask* TaskNamed(const Ds2dRun& run, const std::string& name) {
  const auto task = std::find_if(run.tasks.begin(), run.tasks.end(), [&](const Ds2dTask& one) { return one.name == name; });
  return task == run.tasks.end() ? nullptr : &*task;
}

// Returns no configuration if no run with one has the task.
Ds2dBest BestOf(const std::string& of, const std::string& name, const Runs& runs) {
  Ds2dBest best = {.of = of, .task = name};
  for (const Ds2dRun* const run : runs) {
    const Ds2dTask* const task = run->configuration == kAuto ? nullptr : TaskNamed(*run, name);
    if (task == nullptr || task->tokens_per_pass() <= best.tokens_per_pass) continue;
    best.configuration = run->configuration;
    best.tokens_per_pass = task->tokens_per_pass();
  }
  return best;
}

std::string Tenths(double value) { return absl::StrFormat("%.1f", value); }
std::string Hundredths(double value) { return absl::StrFormat("%.2f", value); }

ReportTable ConfigurationsTable(const OnemodelReport& report, const std::string& of, const Runs& runs) {
  const Ds2dTimes& times = report.ds2d_3b;
  ReportTable table = {.title = absl::StrFormat("Table 7 by real runs of %s: tokens per pass (per second on the modeled %s)", of,
                                                times.shape),
                       .notes = {absl::StrFormat("Tokens per second: with these tokens per pass, a pass taking %.2f ms on %s; plain "
                                                 "decoding has %.1f.", times.pass_milliseconds, times.phone, times.plain_rate())},
                       .columns = {"configuration"},
                       .name = "table7_runs"};
  const std::vector<std::string> tasks = TasksOf(runs);
  table.columns.insert(table.columns.end(), tasks.begin(), tasks.end());
  for (const Ds2dRun* const run : runs) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector<std::string>{run->configuration});
    for (const std::string& name : tasks) {
      const Ds2dTask* const task = TaskNamed(*run, name);
      cells.push_back(task == nullptr ? "-" : absl::StrFormat("%.2f (%.1f)", task->tokens_per_pass(), times.Rate(task->tokens_per_pass())));
    }
  }
  return table;
}

// Returns tokens per pass where the configuration was chosen during the texts; "-": no such run has the task.
std::string ByAuto(const std::string& name, const Runs& runs) {
  for (const Ds2dRun* const run : runs) {
    const Ds2dTask* const task = run->configuration == kAuto ? TaskNamed(*run, name) : nullptr;
    if (task != nullptr) return Hundredths(task->tokens_per_pass());
  }
  return "-";
}

ReportTable BestTable(const OnemodelReport& report, const std::string& of, absl::Span<const Ds2dBest> all, const Runs& runs) {
  ReportTable table = {.title = absl::StrCat("Table 7 by real runs of ", of, ": the best configuration of each task beside plain decoding"),
                       .columns = {"task", "configuration", "tokens per pass", kAuto},
                       .texts = 2,
                       .name = "table7_best"};
  int reach = 0, tasks = 0;
  for (const Ds2dTimes& times : {report.ds2d_3b, report.ds2d_1b}) {
    for (const char* const what : {"tokens/s", "plain", "times"}) table.columns.push_back(absl::StrCat(times.shape, ", ", what));
  }
  for (const Ds2dBest& best : all) {
    if (best.of != of) continue;
    std::vector<std::string> cells = {best.task, best.configuration, Hundredths(best.tokens_per_pass), ByAuto(best.task, runs)};
    for (const Ds2dTimes& times : {report.ds2d_3b, report.ds2d_1b}) {
      const double rate = times.Rate(best.tokens_per_pass);
      for (std::string cell : {Tenths(rate), Tenths(times.plain_rate()), Hundredths(rate / times.plain_rate())}) {
        cells.push_back(std::move(cell));
      }
    }
    ++tasks;
    if (report.ds2d_3b.Rate(best.tokens_per_pass) >= kWantedDs2dGain * report.ds2d_3b.plain_rate()) ++reach;
    table.rows.push_back(std::move(cells));
  }
  table.notes = {absl::StrFormat("%d of %d tasks have at least %.1f times the tokens per second of plain decoding on the modeled %s.",
                                 reach, tasks, kWantedDs2dGain, report.ds2d_3b.shape),
                 absl::StrFormat("Passes of %d rows and of one: the %s on %s, the %s on %s, with one adapter of rank %d.", kDs2dGraphRows,
                                 report.ds2d_3b.shape, report.ds2d_3b.phone, report.ds2d_1b.shape, report.ds2d_1b.phone,
                                 report.assumptions.adapter_rank)};
  return table;
}

}  // namespace

std::vector<Ds2dBest> BestOfTasks(absl::Span<const Ds2dRun> runs) {
  std::vector<Ds2dBest> all;
  for (const auto& [of, its_runs] : ByModel(runs)) {
    for (const std::string& task : TasksOf(its_runs)) {
      Ds2dBest best = BestOf(of, task, its_runs);
      if (!best.configuration.empty()) all.push_back(std::move(best));
    }
  }
  return all;
}

std::vector<ReportTable> RunsTables(const OnemodelReport& report) {
  const std::vector<Ds2dBest> all = BestOfTasks(report.runs);
  std::vector<ReportTable> tables;
  for (const auto& [of, runs] : ByModel(report.runs)) {
    tables.push_back(ConfigurationsTable(report, of, runs));
    if (std::any_of(all.begin(), all.end(), [of = of](const Ds2dBest& best) { return best.of == of; })) {
      tables.push_back(BestTable(report, of, all, runs));
    }
  }
  return tables;
}

}  // namespace tessera
