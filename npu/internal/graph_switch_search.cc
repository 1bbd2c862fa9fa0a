#include "tessera/npu/internal/graph_switch_search.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

constexpr int kMostLists = 1 << 16;        // Steps times numbers of switched blocks: of a longer prompt, its end is looked at.
constexpr int64_t kMostStates = 150'000;   // Looked at by all beams, about.
constexpr double kSooner = 1 - 1e-9;       // Gains below this are rounding.

// States kept for each step and number of switched blocks, and blocks tried from each.
struct Beam { int width; int blocks; };
constexpr Beam kBeams[] = {{1, 2}, {2, 4}, {4, 8}, {8, 16}, {16, 32}, {64, 64}, {256, 64}, {1024, 64}};

constexpr int kRoot = -1;

// The loader is free, and step `step` comes next. The previous step ends at `compute_free`, perhaps later than `loader_free`.
struct State {
  double loader_free = 0;
  double compute_free = 0;
  uint64_t switched = 0;        // A bit for each block.
  int parent = kRoot;           // In the kept states.
  bool loaded = false;          // Came from the parent by `load`.
  SwitchLoad load = {};
  double estimate = 0;          // The end, if no other load touched the prompt,
  double sum = 0;               // and when both of its parts would end.
};

class Search {
 public:
  Search(const SwitchCosts& costs, Beam beam, double to_beat)
      : costs_(costs), blocks_(costs.blocks()), steps_(costs.steps()), beam_(beam), best_(to_beat) {
    const int chunks = std::clamp(kMostLists / (blocks_ * (blocks_ + 1)), 1, costs.chunks());
    first_step_ = steps_ - chunks * blocks_;
    lists_.resize(static_cast<size_t>((steps_ - first_step_ + 1) * (blocks_ + 1)));
    SumRests();
  }

  void Run() {
    State first = {.switched = costs_.had_decode()};
    for (int step = 0; step < first_step_; ++step) first.compute_free += Compute(step, first.switched);
    first.loader_free = first.compute_free;
    Offer(first_step_, std::popcount(first.switched), first);
    for (int step = first_step_; step <= steps_; ++step) {
      for (int count = 0; count <= blocks_; ++count) {
        for (const State& state : TakeBest(step, count)) Expand(step, count, state);
      }
    }
  }

  bool found() const { return best_state_ != kRoot; }
  bool dropped() const { return dropped_; }      // A state that might have led to a better plan.
  int64_t states() const { return states_; }
  double seconds() const { return best_; }

  std::vector<SwitchLoad> Loads() const {
    std::vector<SwitchLoad> loads;
    for (int at = best_state_; at != kRoot; at = kept_[static_cast<size_t>(at)].parent) {
      if (kept_[static_cast<size_t>(at)].loaded) loads.push_back(kept_[static_cast<size_t>(at)].load);
    }
    std::reverse(loads.begin(), loads.end());
    const uint64_t switched = kept_[static_cast<size_t>(best_state_)].switched;
    for (int block = 0; block < blocks_; ++block) {
      if (!Has(switched, block)) loads.push_back({block, steps_});
    }
    return loads;
  }

 private:
  static bool Has(uint64_t switched, int block) { return (switched >> block & 1) != 0; }
  double Compute(int step, uint64_t switched) const {
    const int block = step % blocks_;
    return costs_.Compute(step / blocks_, block, Has(switched, block));
  }
  std::vector<State>& List(int step, int count) {
    return lists_[static_cast<size_t>((step - first_step_) * (blocks_ + 1) + count)];
  }

  // The seconds of a block's compute from a chunk to the prompt's end: with either graph, and with the faster graph in each chunk.
  struct Rest { double prefill = 0; double decode = 0; double least = 0; };
  Rest& RestOf(int block, int chunk) { return rests_[static_cast<size_t>(chunk * blocks_ + block)]; }
  void SumRests() {
    rests_.resize(static_cast<size_t>(steps_ + 2 * blocks_));   // None after the last chunk.
    for (int step = steps_ - 1; step >= first_step_; --step) {
      const int chunk = step / blocks_, block = step % blocks_;
      const Rest& later = RestOf(block, chunk + 1);
      const double prefill = costs_.Compute(chunk, block, false), decode = costs_.Compute(chunk, block, true);
      RestOf(block, chunk) = {later.prefill + prefill, later.decode + decode, later.least + std::min(prefill, decode)};
    }
  }

  // Keeps the state if the state may end sooner than the best plan.
  void Offer(int step, int count, State state) {
    ++states_;
    const int chunk = step / blocks_, passed = step % blocks_;
    double compute = 0, least_compute = 0, load = 0;
    for (int block = 0; block < blocks_; ++block) {
      const Rest& rest = RestOf(block, block < passed ? chunk + 1 : chunk);
      const bool switched = Has(state.switched, block);
      compute += switched ? rest.decode : rest.prefill;
      least_compute += switched ? rest.decode : rest.least;
      load += switched ? 0 : costs_.Load(block, true);
    }
    const double read = state.compute_free + compute, loads_end = state.loader_free + load;
    if (std::max(state.compute_free + least_compute, loads_end) >= best_ * kSooner) return;
    state.estimate = std::max(read, loads_end);
    state.sum = read + loads_end;
    List(step, count).push_back(state);
  }

  // Returns the states of a list that the beam keeps. Drops a state that is later in all respects than another state with the same blocks.
  std::vector<State> TakeBest(int step, int count) {
    std::vector<State> list = std::exchange(List(step, count), {});
    const auto key = [](const State& s) { return std::tie(s.estimate, s.sum, s.switched, s.loader_free, s.compute_free); };
    std::sort(list.begin(), list.end(), [&](const State& a, const State& b) { return key(a) < key(b); });
    std::vector<State> best;
    for (const State& state : list) {
      const bool later = std::any_of(best.begin(), best.end(), [&](const State& other) {
        return other.switched == state.switched && other.loader_free <= state.loader_free && other.compute_free <= state.compute_free;
      });
      if (later) continue;
      if (static_cast<int>(best.size()) == beam_.width) {
        dropped_ = true;
        break;
      }
      best.push_back(state);
    }
    return best;
  }

  void Expand(int step, int count, const State& state) {
    kept_.push_back(state);
    const int parent = static_cast<int>(kept_.size()) - 1;
    if (count == blocks_ || (step == steps_ && state.compute_free <= state.loader_free)) {   // Then the estimate is exact.
      if (state.estimate >= best_ * kSooner) return;
      best_ = state.estimate;
      best_state_ = parent;
      return;
    }
    if (state.compute_free > state.loader_free) TryLoads(step, count, parent, state.loader_free, /*computing=*/1);
    const double now = std::max(state.compute_free, state.loader_free);
    TryLoads(step, count, parent, now, /*computing=*/0);
    if (step == steps_) return;
    const double end = now + Compute(step, state.switched);
    Offer(step + 1, count, {.loader_free = end, .compute_free = end, .switched = state.switched, .parent = parent});
  }

  // Tries loads that begin now, in the order of blocks needed last. computing: 1 if the previous step is still in progress.
  void TryLoads(int step, int count, int parent, double now, int computing) {
    int tried = 0;
    for (int back = 1 + computing; back <= blocks_; ++back) {
      const int block = (step + blocks_ - back) % blocks_;
      if (Has(kept_[static_cast<size_t>(parent)].switched, block)) continue;
      if (tried++ == beam_.blocks) {
        dropped_ = true;
        return;
      }
      Load(step, count, parent, now, {block, step - computing});
    }
  }

  // Computes on until the load ends.
  void Load(int step, int count, int parent, double now, SwitchLoad load) {
    const State& from = kept_[static_cast<size_t>(parent)];
    const double end = now + costs_.Load(load.block, true);
    double compute_free = std::max(from.compute_free, now);
    for (; step < steps_ && compute_free < end; ++step) {
      if (step % blocks_ == load.block) {
        compute_free = end;   // The step waits for the load.
        break;
      }
      compute_free += Compute(step, from.switched);
    }
    Offer(step, count + 1, {.loader_free = end, .compute_free = compute_free, .switched = from.switched | uint64_t{1} << load.block,
                            .parent = parent, .loaded = true, .load = load});
  }

  const SwitchCosts& costs_;
  const int blocks_, steps_;
  const Beam beam_;
  int first_step_ = 0;
  double best_;
  int best_state_ = kRoot;
  bool dropped_ = false;
  int64_t states_ = 0;
  std::vector<Rest> rests_ = {};
  std::vector<State> kept_ = {};
  std::vector<std::vector<State>> lists_ = {};   // By step and number of switched blocks.
};

}  // namespace

std::optional<std::vector<SwitchLoad>> SearchSwitch(const SwitchCosts& costs, double to_beat) {
  std::optional<std::vector<SwitchLoad>> loads;
  int64_t states = 0;
  for (const Beam beam : kBeams) {
    Search search(costs, beam, to_beat);
    search.Run();
    if (search.found()) {
      loads = search.Loads();
      to_beat = search.seconds();
    }
    states += search.states();
    if (!search.dropped() || states + 4 * search.states() > kMostStates) break;
  }
  return loads;
}

}  // namespace tessera
