#include "tessera/apps/lab/scale/grid/grid_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/report/frontier.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

std::string WithoutEnding(const std::string& file) { return file.substr(0, file.rfind('.')); }

bool IsSame(const GridClock& a, const GridClock& b) { return a.kind == b.kind && a.name == b.name; }

void AddNew(GridClock clock, std::vector<GridClock>& clocks) {
  const auto same = [&](const GridClock& other) { return IsSame(clock, other); };
  if (std::none_of(clocks.begin(), clocks.end(), same)) clocks.push_back(std::move(clock));
}

}  // namespace

absl::StatusOr<GridView> GridView::Read(const std::vector<std::string>& folders) {
  GridView view;
  for (const std::string& folder : folders) RETURN_IF_ERROR(view.Add(folder));
  return view;
}

absl::Status GridView::Add(const std::string& folder) {
  const auto same = [&](const GridRunView& run) { return run.folder == folder; };
  if (std::any_of(runs_.begin(), runs_.end(), same)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": found it again, expected each folder once"));
  }
  GridRunView run = {.folder = folder};
  ASSIGN_OR_RETURN(run.about, ReadGridAbout(folder));
  RETURN_IF_ERROR(CheckQuestions(run));
  ASSIGN_OR_RETURN(std::vector<GridResult> results, ReadGridResults(GridResultsPath(folder)));
  ASSIGN_OR_RETURN(const HostTimes times, HostTimes::Read(GridTimesPath(folder)));
  for (GridResult& result : results) {
    GridConfiguration configuration = {.run = runs_.size()};
    const HostTime* const time = result.method == "beam" ? times.FindBeams(result.task, result.samples, result.scorer)
                                                         : times.Find(result.task, result.samples, /*scorer=*/"");
    if (time != nullptr) configuration.host = *time;
    configuration.result = std::move(result);
    configurations_.push_back(std::move(configuration));
  }
  runs_.push_back(std::move(run));
  return absl::OkStatus();
}

// Checks that runs have the same questions: shares of right answers to different questions cannot be compared.
absl::Status GridView::CheckQuestions(const GridRunView& run) const {
  for (const GridRunView& other : runs_) {
    for (const GridTask& theirs : other.about.tasks) {
      for (const GridTask& ours : run.about.tasks) {
        if (ours.task != theirs.task || ours.sha256 == theirs.sha256) continue;
        return absl::InvalidArgumentError(absl::StrCat(run.folder, ": questions of ", ours.task, ": found ", ours.questions,
                                                       " of sha256 ", ours.sha256, ", expected ", theirs.questions, " of sha256 ",
                                                       theirs.sha256, ", those of ", other.folder));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> GridView::tasks() const {
  std::vector<std::string> tasks;
  for (const std::string& task : TaskNames()) {
    if (!ConfigurationsOf(task).empty()) tasks.push_back(task);
  }
  return tasks;
}

std::vector<size_t> GridView::ConfigurationsOf(absl::string_view task) const {
  std::vector<size_t> places;
  for (size_t i = 0; i < configurations_.size(); ++i) {
    if (configurations_[i].result.task == task) places.push_back(i);
  }
  return places;
}

std::vector<GridClock> GridView::ClocksOf(absl::string_view task) const {
  std::vector<GridClock> clocks;
  for (const auto kind : {GridClock::Kind::kHost, GridClock::Kind::kPhone, GridClock::Kind::kEnergy}) {
    for (const size_t place : ConfigurationsOf(task)) {
      const GridConfiguration& configuration = configurations_[place];
      GridClock clock = {.kind = kind};
      if (kind == GridClock::Kind::kHost && configuration.host.has_value()) clock.name = configuration.host->machine;
      if (kind != GridClock::Kind::kHost && configuration.result.phone.has_value()) clock.name = configuration.result.phone->device;
      if (CostOf(place, clock).has_value()) AddNew(std::move(clock), clocks);
    }
  }
  return clocks;
}

std::optional<double> GridView::CostOf(size_t configuration, const GridClock& clock) const {
  const GridConfiguration& found = configurations_[configuration];
  std::optional<double> cost;
  if (clock.kind == GridClock::Kind::kHost) {
    if (found.host.has_value() && found.host->machine == clock.name) cost = found.host->seconds;
  } else if (found.result.phone.has_value() && found.result.phone->device == clock.name) {
    const PhoneCost& phone = found.result.phone->cost;
    cost = clock.kind == GridClock::Kind::kPhone ? phone.seconds() : phone.joules;
  }
  return cost.has_value() && *cost > 0 ? cost : std::nullopt;
}

std::string GridView::ModelOf(size_t run) const {
  const GridRunView& found = runs_[run];
  const auto same = [&](const GridRunView& other) { return other.about.model == found.about.model; };
  const std::string name = Printable(WithoutEnding(found.about.model));
  return std::count_if(runs_.begin(), runs_.end(), same) == 1 ? name : absl::StrCat(name, " in ", Printable(found.folder));
}

std::string GridView::WayOf(size_t configuration) const {
  const GridResult& result = configurations_[configuration].result;
  return result.method == "one" ? result.method : absl::StrCat(result.method, " ", result.samples);
}

std::string GridView::LabelOf(size_t configuration) const {
  const std::string way = WayOf(configuration);
  return runs_.size() > 1 ? absl::StrCat(ModelOf(configurations_[configuration].run), " ", way) : way;
}

std::vector<size_t> GridView::Frontier(absl::string_view task, const GridClock& clock) const {
  std::vector<size_t> places;
  std::vector<FrontierPoint> points;
  for (const size_t place : ConfigurationsOf(task)) {
    const std::optional<double> cost = CostOf(place, clock);
    if (!cost.has_value()) continue;
    places.push_back(place);
    points.push_back({.cost = *cost, .value = configurations_[place].result.right.mean});
  }
  std::vector<size_t> frontier;
  for (const size_t place : FrontierOf(points)) frontier.push_back(places[place]);
  return frontier;
}

bool GridView::Beats(size_t smaller, size_t larger, const GridClock& clock) const {
  const auto parameters = [&](size_t place) { return runs_[configurations_[place].run].about.parameters; };
  const auto point = [&](size_t place) {
    return FrontierPoint{.cost = CostOf(place, clock).value_or(0), .value = configurations_[place].result.right.mean};
  };
  if (!CostOf(smaller, clock).has_value() || !CostOf(larger, clock).has_value()) return false;
  return parameters(smaller) < parameters(larger) && Dominates(point(smaller), point(larger));
}

std::vector<Crossing> GridView::Crossings(absl::string_view task, const GridClock& clock) const {
  const std::vector<size_t> all = ConfigurationsOf(task);
  std::vector<Crossing> crossings;
  for (const size_t larger : all) {
    std::optional<size_t> cheapest;
    for (const size_t smaller : all) {
      if (!Beats(smaller, larger, clock)) continue;
      if (!cheapest.has_value() || CostOf(smaller, clock) < CostOf(*cheapest, clock)) cheapest = smaller;
    }
    if (!cheapest.has_value()) continue;
    const double low = configurations_[*cheapest].result.right.low, high = configurations_[larger].result.right.high;
    crossings.push_back({.smaller = *cheapest, .larger = larger, .apart = low > high});
  }
  return crossings;
}

}  // namespace tessera
