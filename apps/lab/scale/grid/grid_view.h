// Configurations of one grid or of several side by side: what each takes by each clock, which no other one beats, and where a smaller model
// beats a larger one.
//
//   ASSIGN_OR_RETURN(const GridView view, GridView::Read({"grid_135m", "grid_360m"}));
//   for (const GridClock& clock : view.ClocksOf("gsm8k")) {
//     for (const size_t place : view.Frontier("gsm8k", clock)) Print(view.LabelOf(place));
//     for (const Crossing& crossing : view.Crossings("gsm8k", clock)) Print(view.LabelOf(crossing.smaller), view.LabelOf(crossing.larger));
//   }
//
// A clock is a machine, a modeled phone, or that phone's energy; only what has a figure by it is compared by it. Threads: any, once read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/grid_results.h"
#include "tessera/apps/lab/scale/grid/host_times.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct GridRunView {
  std::string folder = {};
  GridAbout about = {};
};

struct GridConfiguration {
  size_t run = 0;                         // By its place among the runs.
  GridResult result = {};
  std::optional<HostTime> host = {};
};

struct GridClock {
  enum class Kind : uint8_t { kHost, kPhone, kEnergy };
  Kind kind = Kind::kHost;
  std::string name = {};                  // The machine's, or the phone's.
};

// Configurations, by their places. The smaller model's is right at least as often, and takes no more; one of both is better.
struct Crossing {
  size_t smaller = 0, larger = 0;
  bool apart = false;                     // The smaller model's interval lies above the larger one's.
};

class GridView {
 public:
  // InvalidArgument for a folder that is there twice, and where two have a task in common but other questions of it; the errors of
  // ReadGridAbout, ReadGridResults and HostTimes::Read.
  static absl::StatusOr<GridView> Read(const std::vector<std::string>& folders);

  const std::vector<GridRunView>& runs() const { return runs_; }
  const std::vector<GridConfiguration>& configurations() const { return configurations_; }

  std::vector<std::string> tasks() const;                                  // That have results, in the order of TaskNames().
  std::vector<GridClock> ClocksOf(absl::string_view task) const;           // Those by which one of its configurations has a figure.
  std::vector<size_t> ConfigurationsOf(absl::string_view task) const;

  // Seconds or joules of a question; none: not known, or none at all, which is no figure.
  std::optional<double> CostOf(size_t configuration, const GridClock& clock) const;
  // "majority 8".
  std::string WayOf(size_t configuration) const;
  // The same with the model's name before it where there are several runs.
  std::string LabelOf(size_t configuration) const;
  // The model's file, without its ending, and with the folder where several runs have one of that name.
  std::string ModelOf(size_t run) const;

  std::vector<size_t> Frontier(absl::string_view task, const GridClock& clock) const;
  // For each configuration of a model that is larger than another, the one of the smallest cost among those of smaller models that beat it.
  std::vector<Crossing> Crossings(absl::string_view task, const GridClock& clock) const;

 private:
  absl::Status Add(const std::string& folder);
  absl::Status CheckQuestions(const GridRunView& run) const;
  bool Beats(size_t smaller, size_t larger, const GridClock& clock) const;

  std::vector<GridRunView> runs_;
  std::vector<GridConfiguration> configurations_;
};

}  // namespace tessera
