// Random models and prompts for npu/graph_switch.h, checks for impossible outcomes, and the best of all plans by brute force.
//
//   const SwitchInstance instance = RandomSwitchInstance(random, /*kind=*/round);
//   EXPECT_EQ(SwitchFault(instance, plan, outcome), "");
//   EXPECT_LE(outcome.total_seconds(), 1.05 * SoonestSwitch(instance).seconds());
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/npu/graph_switch.h"

namespace tessera {

struct SwitchInstance {
  std::vector<SwitchTimes> blocks;
  SwitchPrompt prompt;

  double ComputeSeconds(int chunk, int block, bool decode_graph) const {
    const bool last = chunk == prompt.chunks - 1;
    const SwitchTimes& times = blocks[block];
    if (!decode_graph) return times.prefill_seconds * (last ? prompt.last_share : 1);
    return times.decode_seconds * (last && prompt.last_sub_chunks > 0 ? prompt.last_sub_chunks : prompt.sub_chunks);
  }
};

// Equal or unequal blocks; loads from a sixth to six times of a block's compute, or more; decode graphs one to four times slower.
inline SwitchInstance RandomSwitchInstance(SeededRandom& random, int kind, int most_blocks = 6, int most_chunks = 4) {
  const auto below = [&random](int n) { return static_cast<int>(random.Below(n)); };
  SwitchInstance instance;
  SwitchPrompt& prompt = instance.prompt;
  prompt = {.chunks = 1 + below(most_chunks), .sub_chunks = 1 << below(3)};
  if (kind % 3 == 1) prompt.last_sub_chunks = 1 + below(prompt.sub_chunks);
  if (kind % 3 == 2) prompt.last_share = 0.25 + 0.75 * random.Uniform();
  const double load = below(2) == 0 ? 1 + 5 * random.Uniform() : 1 / (1 + 5 * random.Uniform());
  const double slower = 1 + 3 * random.Uniform();
  instance.blocks.resize(1 + below(most_blocks), {.prefill_seconds = 1, .decode_seconds = slower, .load_seconds = load});
  for (SwitchTimes& times : instance.blocks) {
    if (kind % 4 == 1) {
      times.prefill_seconds = 0.5 + random.Uniform();
      times.load_seconds = 2 * load * random.Uniform();
    }
    if (kind % 4 == 2) times = {.prefill_seconds = 1.0 + below(4), .decode_seconds = 1.0 + below(4), .load_seconds = 1.0 + below(8)};
    if (kind % 4 == 3 && below(3) == 0) times = {.prefill_seconds = 5, .decode_seconds = 5 * slower, .load_seconds = 3 * load};
    times.decode_seconds /= prompt.sub_chunks;
    times.return_seconds = 0.5 + random.Uniform();
  }
  return instance;
}

inline bool NearSeconds(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a)); }

// Returns the first impossibility in an outcome's runs, including a number of runs other than the steps; empty if there is none.
inline std::string RunFault(const SwitchInstance& instance, const SwitchPlan& plan, const SwitchOutcome& outcome) {
  const int blocks = static_cast<int>(instance.blocks.size());
  double could_begin = 0, sum = 0;
  for (int step = 0; step < static_cast<int>(outcome.runs.size()); ++step) {
    const SwitchRun& run = outcome.runs[step];
    if (run.chunk != step / blocks || run.block != step % blocks) return absl::StrCat("step ", step, " is another");
    if (run.begin_seconds < could_begin) return absl::StrCat("step ", step, " begins while another computes");
    bool decode_graph = plan.HadDecode(run.block);
    for (const PlacedLoad& load : outcome.loads) {
      if (load.block != run.block || load.begin_seconds >= run.end_seconds) continue;
      if (run.begin_seconds < load.end_seconds) return absl::StrCat("step ", step, " runs while it loads");
      decode_graph = load.decode_graph;
    }
    if (run.decode_graph != decode_graph) return absl::StrCat("step ", step, " runs a graph that is not there");
    const double seconds = instance.ComputeSeconds(run.chunk, run.block, decode_graph);
    if (!NearSeconds(run.end_seconds, run.begin_seconds + seconds)) return absl::StrCat("step ", step, " takes another time");
    sum += seconds;
    could_begin = run.end_seconds;
  }
  if (outcome.read_seconds != could_begin) return "the prompt is read at another time";
  return NearSeconds(outcome.waited_seconds, outcome.read_seconds - sum) ? "" : "time is lost";
}

// Like RunFault, for loads, including a number of loads other than the plan's.
inline std::string LoadFault(const SwitchInstance& instance, const SwitchPlan& plan, const SwitchOutcome& outcome) {
  double loader_free = -instance.prompt.idle_seconds;
  std::vector<bool> decode_graphs;
  for (size_t block = 0; block < instance.blocks.size(); ++block) decode_graphs.push_back(plan.HadDecode(static_cast<int>(block)));
  for (size_t i = 0; i < plan.loads.size(); ++i) {
    const PlacedLoad& load = outcome.loads[i];
    const int block = plan.loads[i].block, before = plan.loads[i].before;
    if (load.block != block || load.decode_graph == decode_graphs[block]) return absl::StrCat("load ", i, " is another");
    decode_graphs[block] = load.decode_graph;
    if (load.begin_seconds < loader_free) return absl::StrCat("load ", i, " begins while another loads");
    const double could_begin = before > 0 ? outcome.runs[before - 1].end_seconds : 0;
    if (before != kBeforePrompt && load.begin_seconds < could_begin) return absl::StrCat("load ", i, " begins before its step");
    const SwitchTimes& times = instance.blocks[block];
    loader_free = load.begin_seconds + (load.decode_graph ? times.load_seconds : times.return_seconds);
    if (!NearSeconds(load.end_seconds, loader_free)) return absl::StrCat("load ", i, " takes another time");
  }
  const double switched = plan.loads.empty() ? 0 : std::max(0.0, loader_free);
  return NearSeconds(outcome.switched_seconds, switched) ? "" : "loads end at another time";
}

// Returns the first impossibility in an outcome of a plan; empty if there is none.
inline std::string SwitchFault(const SwitchInstance& instance, const SwitchPlan& plan, const SwitchOutcome& outcome) {
  const size_t steps = instance.blocks.size() * instance.prompt.chunks;
  if (outcome.loads.size() != plan.loads.size() || outcome.runs.size() != steps) return "something is missing";
  const std::string fault = RunFault(instance, plan, outcome);
  return fault.empty() ? LoadFault(instance, plan, outcome) : fault;
}

// Brute force: each block at each time when the loader is free, at a step's begin or within a step. Only states that have the same blocks
// at the same step's begin are compared: the earliest goes on. For up to about 6 blocks.
class SoonestSwitch {
 public:
  // switched: a bit for each block that has its decode graph at first.
  explicit SoonestSwitch(const SwitchInstance& instance, int switched = 0)
      : instance_(instance), blocks_(static_cast<int>(instance.blocks.size())), steps_(blocks_ * instance.prompt.chunks),
        earliest_(static_cast<size_t>(steps_ + 1) << blocks_, std::numeric_limits<double>::infinity()) {
    Search(0, 0, 0, switched);
  }
  double seconds() const { return best_; }

 private:
  static bool Has(int switched, int block) { return (switched >> block & 1) != 0; }
  double Compute(int step, bool decode_graph) const {
    return instance_.ComputeSeconds(step / blocks_, step % blocks_, decode_graph);
  }

  // Returns a bound: no plan from here on ends sooner.
  double LeastEnd(double now, int step, double compute_free, int switched) const {
    for (int block = 0; block < blocks_; ++block) now += Has(switched, block) ? 0 : instance_.blocks[block].load_seconds;
    for (; step < steps_; ++step) {
      const double decode = Compute(step, true);
      compute_free += Has(switched, step % blocks_) ? decode : std::min(decode, Compute(step, false));
    }
    return std::max(now, compute_free);
  }

  // Searches on. The loader is free now; `step` comes next, when the step before ends.
  void Search(double now, int step, double compute_free, int switched) {
    if (compute_free <= now) {
      double& earliest = earliest_[(static_cast<size_t>(step) << blocks_) + switched];
      if (now >= earliest) return;
      earliest = now;
    }
    const double least_end = LeastEnd(now, step, compute_free, switched);
    if (least_end >= best_) return;
    if (switched == (1 << blocks_) - 1) {
      best_ = least_end;   // No choice is left.
      return;
    }
    for (int block = 0; block < blocks_; ++block) {
      const bool computing = compute_free > now && (step + blocks_ - 1) % blocks_ == block;
      if (!Has(switched, block) && !computing) Load(now, step, compute_free, switched, block);
    }
    if (compute_free > now) return Search(compute_free, step, compute_free, switched);
    if (step == steps_) return;
    const double end = now + Compute(step, Has(switched, step % blocks_));
    Search(end, step + 1, end, switched);
  }

  void Load(double now, int step, double compute_free, int switched, int block) {
    const double end = now + instance_.blocks[block].load_seconds;
    compute_free = std::max(compute_free, now);
    for (; step < steps_ && compute_free < end; ++step) {
      if (step % blocks_ == block) {
        compute_free = end;
        break;
      }
      compute_free += Compute(step, Has(switched, step % blocks_));
    }
    Search(end, step, compute_free, switched | 1 << block);
  }

  const SwitchInstance& instance_;
  const int blocks_, steps_;
  double best_ = std::numeric_limits<double>::infinity();
  std::vector<double> earliest_;
};

}  // namespace tessera
