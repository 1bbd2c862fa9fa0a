// Configurations of one grid or of several side by side: the cost of each by each clock, the unbeaten configurations, and smaller models
// that beat larger models.
//
//   ASSIGN_OR_RETURN(const GridView view, GridView::Read({"grid_135m", "grid_360m"}));
//   for (const GridClock& clock : view.ClocksOf("gsm8k")) {
//     for (const size_t place : view.Frontier("gsm8k", clock)) Print(view.LabelOf(place));
//     for (const Crossing& crossing : view.Crossings("gsm8k", clock)) Print(view.LabelOf(crossing.smaller), view.LabelOf(crossing.larger));
//   }
//
// A clock is a machine, a modeled phone, or a modeled phone's energy. Only configurations with a figure by a clock are compared by the
// clock. Threads: any, once read.
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
  size_t run = 0;                         // Place among the runs.
  GridResult result = {};
  std::optional<HostTime> host = {};
};

struct GridClock {
  enum class Kind : uint8_t { kHost, kPhone, kEnergy };
  Kind kind = Kind::kHost;
  std::string name = {};                  // The name of the machine or of the phone.
};

// A smaller model that beats a larger model: two configurations, by place. The smaller model's configuration is right at least as often and
// costs no more; one of the two is better.
struct Crossing {
  size_t smaller = 0, larger = 0;
  bool apart = false;                     // The smaller model's interval lies above the larger model's.
};

class GridView {
 public:
  // Reads the grids of the folders. InvalidArgument for a folder given twice, and for two folders with different questions of the same
  // task. Also the errors of ReadGridAbout, ReadGridResults and HostTimes::Read.
  static absl::StatusOr<GridView> Read(const std::vector<std::string>& folders);

  const std::vector<GridRunView>& runs() const { return runs_; }
  const std::vector<GridConfiguration>& configurations() const { return configurations_; }

  std::vector<std::string> tasks() const;                                  // Tasks with results, in the order of TaskNames().
  std::vector<GridClock> ClocksOf(absl::string_view task) const;           // Clocks for which a configuration has a figure.
  std::vector<size_t> ConfigurationsOf(absl::string_view task) const;

  // Returns seconds or joules per question; nullopt: not known, or 0, which is no figure.
  std::optional<double> CostOf(size_t configuration, const GridClock& clock) const;
  // Returns the method and the number of samples: "majority 8".
  std::string WayOf(size_t configuration) const;
  // Returns WayOf, after the model's name if there are several runs.
  std::string LabelOf(size_t configuration) const;
  // Returns the name of the model's file without the ending, and with the folder if several runs have a model of that name.
  std::string ModelOf(size_t run) const;

  std::vector<size_t> Frontier(absl::string_view task, const GridClock& clock) const;
  // Returns crossings, at most one for each configuration of a larger model: the cheapest configuration of a smaller model that beats the
  // larger model's configuration.
  std::vector<Crossing> Crossings(absl::string_view task, const GridClock& clock) const;

 private:
  absl::Status Add(const std::string& folder);
  absl::Status CheckQuestions(const GridRunView& run) const;
  bool Beats(size_t smaller, size_t larger, const GridClock& clock) const;

  std::vector<GridRunView> runs_;
  std::vector<GridConfiguration> configurations_;
};

}  // namespace tessera
