#include "tessera/npu/graph_switch.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/internal/graph_switch_costs.h"
#include "tessera/npu/internal/graph_switch_search.h"

namespace tessera {
namespace {

template <typename T>
absl::Status CheckRange(absl::string_view name, T found, T least, T most) {
  if (found >= least && found <= most) return absl::OkStatus();   // A NaN is in no range.
  return absl::InvalidArgumentError(absl::StrCat(name, ": found ", found, ", expected ", least, " to ", most));
}

absl::Status CheckBlocks(absl::Span<const SwitchTimes> blocks) {
  RETURN_IF_ERROR(CheckRange<size_t>("blocks", blocks.size(), 1, kMostSwitchBlocks));
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::pair<absl::string_view, double> times[] = {{"prefill_seconds", blocks[i].prefill_seconds},
                                                          {"decode_seconds", blocks[i].decode_seconds},
                                                          {"load_seconds", blocks[i].load_seconds},
                                                          {"return_seconds", blocks[i].return_seconds}};
    for (const auto& [name, seconds] : times) {
      RETURN_IF_ERROR(CheckRange<double>(absl::StrCat("block ", i, ": ", name), seconds, 0, kMostSwitchSeconds));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTurn(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt) {
  RETURN_IF_ERROR(CheckBlocks(blocks));
  RETURN_IF_ERROR(CheckRange<int>("chunks", prompt.chunks, 1, kMostSwitchSteps / static_cast<int>(blocks.size())));
  RETURN_IF_ERROR(CheckRange<int>("sub_chunks", prompt.sub_chunks, 1, kMostSubChunks));
  RETURN_IF_ERROR(CheckRange<int>("last_sub_chunks", prompt.last_sub_chunks, 0, prompt.sub_chunks));
  RETURN_IF_ERROR(CheckRange<double>("last_share", prompt.last_share, 0, 1));
  return CheckRange<double>("idle_seconds", prompt.idle_seconds, 0, kMostSwitchSeconds);
}

absl::Status CheckHadDecode(absl::Span<const SwitchTimes> blocks, const std::vector<bool>& had_decode) {
  if (had_decode.empty() || had_decode.size() == blocks.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("had_decode: found ", had_decode.size(), ", expected ", blocks.size(), ", one per block"));
}

absl::Status CheckPlan(const SwitchCosts& costs, const SwitchPlan& plan) {
  int earliest = kBeforePrompt;
  for (size_t i = 0; i < plan.loads.size(); ++i) {
    RETURN_IF_ERROR(CheckRange<int>(absl::StrCat("load ", i, ": block"), plan.loads[i].block, 0, costs.blocks() - 1));
    RETURN_IF_ERROR(CheckRange<int>(absl::StrCat("load ", i, ": before"), plan.loads[i].before, earliest, costs.steps()));
    earliest = plan.loads[i].before;
  }
  return absl::OkStatus();
}

// Walks the steps in order, and makes each load when the walk has come to its begin.
class Simulation {
 public:
  Simulation(const SwitchCosts& costs, const SwitchPlan& plan, double idle_seconds)
      : costs_(costs), plan_(plan), arrival_(idle_seconds), loader_free_(-idle_seconds) {
    for (int block = 0; block < costs.blocks(); ++block) {
      blocks_.push_back({.decode_graph = plan.HadDecode(block), .loaded = -idle_seconds, .computed = -idle_seconds});
    }
  }

  SwitchOutcome Run() && {
    for (int step = 0; step < costs_.steps(); ++step) Compute(step);
    begins_.push_back(front_);
    while (next_ < plan_.loads.size()) Load();
    outcome_.read_seconds = front_;
    outcome_.switched_seconds = std::max(0.0, plan_.loads.empty() ? 0.0 : loader_free_);
    return std::move(outcome_);
  }

 private:
  struct Block { bool decode_graph; double loaded; double computed; };   // The ends of its last load and its last run.

  void Compute(int step) {
    const int chunk = step / costs_.blocks(), index = step % costs_.blocks();
    Block& block = blocks_[static_cast<size_t>(index)];
    begins_.push_back(front_);
    while (Released(step) && NextBegin() <= std::max(front_, block.loaded)) Load();
    const double begin = std::max(front_, block.loaded);
    const double end = begin + costs_.Compute(chunk, index, block.decode_graph);
    outcome_.runs.push_back({chunk, index, block.decode_graph, costs_.Runs(chunk, block.decode_graph), begin, end});
    outcome_.waited_seconds += begin - front_;
    block.computed = front_ = end;
    while (Released(step) && NextBegin() < end) Load();   // Not this block: its load can begin only at `end`.
  }

  bool Released(int step) const { return next_ < plan_.loads.size() && plan_.loads[next_].before <= step; }

  // REQUIRES: the next load is released.
  double NextBegin() const {
    const SwitchLoad& load = plan_.loads[next_];
    const double release = load.before == kBeforePrompt ? -arrival_ : begins_[static_cast<size_t>(load.before)];
    return std::max({release, loader_free_, blocks_[static_cast<size_t>(load.block)].computed});
  }

  void Load() {
    const int index = plan_.loads[next_].block;
    Block& block = blocks_[static_cast<size_t>(index)];
    const double begin = NextBegin();
    block.decode_graph = !block.decode_graph;
    block.loaded = loader_free_ = begin + costs_.Load(index, block.decode_graph);
    outcome_.loads.push_back({index, block.decode_graph, begin, loader_free_});
    ++next_;
  }

  const SwitchCosts& costs_;
  const SwitchPlan& plan_;
  double arrival_;                     // Counted from the begin of the idle time.
  double front_ = 0;                   // When the next step could begin.
  double loader_free_;
  size_t next_ = 0;                    // The load that comes next.
  std::vector<Block> blocks_ = {};
  std::vector<double> begins_ = {};    // When each step could begin.
  SwitchOutcome outcome_ = {};
};

double TotalSeconds(const SwitchCosts& costs, const SwitchPlan& plan) { return Simulation(costs, plan, 0).Run().total_seconds(); }

// Plans no loads: blocks keep their graphs.
SwitchPlan Padded(const SwitchCosts& costs) {
  SwitchPlan plan;
  if (costs.had_decode() == 0) return plan;
  for (int block = 0; block < costs.blocks(); ++block) plan.had_decode.push_back(costs.HadDecode(block));
  return plan;
}

SwitchPlan Synchronous(const SwitchCosts& costs) {
  SwitchPlan plan = Padded(costs);
  for (int block = 0; block < costs.blocks(); ++block) {
    if (!costs.HadDecode(block)) plan.loads.push_back({block, costs.steps()});
  }
  return plan;
}

SwitchPlan Naive(const SwitchCosts& costs) {
  SwitchPlan plan = Padded(costs);
  for (int block = 0; block < costs.blocks(); ++block) {
    if (!costs.HadDecode(block)) plan.loads.push_back({block, costs.steps() - costs.blocks() + block + 1});
  }
  return plan;
}

// Plans in rounds: in each round block `last` loads, and meanwhile the next blocks compute with their present graphs.
SwitchPlan Published(const SwitchCosts& costs) {
  SwitchPlan plan = Padded(costs);
  int step = 0;
  for (int last = costs.blocks() - 1; last >= 0; --last) {
    if (costs.HadDecode(last)) continue;
    plan.loads.push_back({last, step});
    const double load_seconds = costs.Load(last, true);
    std::vector<double> compute_seconds;
    double sum = 0;
    for (int i = step; i < costs.steps() && (i == step || sum < load_seconds); ++i) {
      const int block = i % costs.blocks();
      compute_seconds.push_back(costs.Compute(i / costs.blocks(), block, block >= last || costs.HadDecode(block)));
      sum += compute_seconds.back();
    }
    step += LeastCover(load_seconds, compute_seconds);   // None is left at the prompt's end.
  }
  return plan;
}

SwitchPlan Planned(const SwitchCosts& costs) {
  SwitchPlan best = Synchronous(costs);
  double best_seconds = TotalSeconds(costs, best);
  const auto offer = [&](SwitchPlan plan) {
    const double seconds = TotalSeconds(costs, plan);
    if (seconds >= best_seconds) return;
    best = std::move(plan);
    best_seconds = seconds;
  };
  offer(Naive(costs));
  offer(Published(costs));
  if (std::optional<std::vector<SwitchLoad>> loads = SearchSwitch(costs, best_seconds)) {
    SwitchPlan found = Padded(costs);
    found.loads = *std::move(loads);
    offer(std::move(found));
  }
  return best;
}

}  // namespace

int LeastCover(double load_seconds, absl::Span<const double> compute_seconds) {
  double sum = 0;
  for (size_t k = 0; k < compute_seconds.size(); ++k) {
    sum += compute_seconds[k];
    if (load_seconds <= sum) return static_cast<int>(k) + 1;
  }
  return static_cast<int>(compute_seconds.size());
}

absl::string_view SwitchRuleName(SwitchRule rule) {
  switch (rule) {
    case SwitchRule::kPadded: return "padded";
    case SwitchRule::kSynchronous: return "synchronous";
    case SwitchRule::kNaive: return "naive";
    case SwitchRule::kPublished: return "published";
    case SwitchRule::kPlanned: return "planned";
  }
  return "";
}

absl::StatusOr<SwitchRule> SwitchRuleFromName(absl::string_view name) {
  std::string names;
  for (const SwitchRule rule : kSwitchRules) {
    if (SwitchRuleName(rule) == name) return rule;
    absl::StrAppend(&names, names.empty() ? "" : ", ", SwitchRuleName(rule));
  }
  return absl::InvalidArgumentError(absl::StrCat("rule of switching: found ", Quoted(name), ", expected one of ", names));
}

absl::StatusOr<SwitchPlan> PlanSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, SwitchRule rule) {
  return PlanSwitch(blocks, prompt, rule, {});
}

absl::StatusOr<SwitchPlan> PlanSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, SwitchRule rule,
                                      const std::vector<bool>& had_decode) {
  RETURN_IF_ERROR(CheckTurn(blocks, prompt));
  RETURN_IF_ERROR(CheckHadDecode(blocks, had_decode));
  const SwitchCosts costs(blocks, prompt, had_decode);
  switch (rule) {
    case SwitchRule::kPadded: return Padded(costs);
    case SwitchRule::kSynchronous: return Synchronous(costs);
    case SwitchRule::kNaive: return Naive(costs);
    case SwitchRule::kPublished: return Published(costs);
    case SwitchRule::kPlanned: return Planned(costs);
  }
  return absl::InvalidArgumentError(absl::StrCat("rule: found ", static_cast<int>(rule), ", expected a SwitchRule"));
}

SwitchPlan PlanReturn(int blocks) {
  SwitchPlan plan = {.from_decode = true};
  for (int block = 0; block < blocks; ++block) plan.loads.push_back({block, kBeforePrompt});
  return plan;
}

absl::StatusOr<SwitchOutcome> SimulateSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, const SwitchPlan& plan) {
  RETURN_IF_ERROR(CheckTurn(blocks, prompt));
  RETURN_IF_ERROR(CheckHadDecode(blocks, plan.had_decode));
  const SwitchCosts costs(blocks, prompt);
  RETURN_IF_ERROR(CheckPlan(costs, plan));
  return Simulation(costs, plan, prompt.idle_seconds).Run();
}

}  // namespace tessera
