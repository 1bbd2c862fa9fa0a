// The times of compute steps and loads, from checked times and a checked prompt, for planning and for simulation.
//
//   SwitchCosts costs(blocks, prompt);
//   double seconds = costs.Compute(/*chunk=*/0, /*block=*/3, /*decode_graph=*/true);
//
// Threads: thread-safe.
// Lifetime: the times must outlive a SwitchCosts.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tessera/npu/graph_switch.h"

namespace tessera {

class SwitchCosts {
 public:
  // REQUIRES: PlanSwitch accepts the arguments.
  SwitchCosts(absl::Span<const SwitchTimes> times, const SwitchPrompt& prompt, const std::vector<bool>& had_decode = {})
      : times_(times), prompt_(prompt) {
    for (size_t block = 0; block < had_decode.size(); ++block) had_decode_ |= uint64_t{had_decode[block]} << block;
  }

  int blocks() const { return static_cast<int>(times_.size()); }
  int chunks() const { return prompt_.chunks; }
  int steps() const { return blocks() * chunks(); }
  uint64_t had_decode() const { return had_decode_; }   // One bit per block; set if the block begins with its decode graph.
  bool HadDecode(int block) const { return (had_decode_ >> block & 1) != 0; }
  int Runs(int chunk, bool decode_graph) const {
    if (!decode_graph) return 1;
    return chunk == prompt_.chunks - 1 && prompt_.last_sub_chunks > 0 ? prompt_.last_sub_chunks : prompt_.sub_chunks;
  }
  double Compute(int chunk, int block, bool decode_graph) const {
    const SwitchTimes& times = times_[static_cast<size_t>(block)];
    if (decode_graph) return Runs(chunk, true) * times.decode_seconds;
    return chunk == prompt_.chunks - 1 ? prompt_.last_share * times.prefill_seconds : times.prefill_seconds;
  }
  double Load(int block, bool decode_graph) const {
    const SwitchTimes& times = times_[static_cast<size_t>(block)];
    return decode_graph ? times.load_seconds : times.return_seconds;
  }

 private:
  absl::Span<const SwitchTimes> times_;
  SwitchPrompt prompt_;
  uint64_t had_decode_ = 0;
};

}  // namespace tessera
