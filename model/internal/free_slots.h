// Keeps the free slots of a KV cache, as runs, and gives slots out by a rule.
//
//   FreeSlots free(/*slots=*/1024, /*scatter_seed=*/0);
//   std::vector<SlotRange> taken = free.Take({.position = 0, .count = 20, .after = -1});   // {{0, 20}}
//   taken = free.Take({.position = 20, .count = 1, .after = 19});                          // {{20, 1}}
//   free.Give({0, 21});
//
// The rule: continue at the slot right after the sequence's last slot while that slot is free. Otherwise begin in the largest free run, at
// the run's first slot with slot % 16 == position % 16. Attention reads such runs as whole vectors. The sequence in front of the run keeps
// up to 15 slots to grow, so siblings do not cut each other into single slots. Take and Give walk over the free runs: about as many runs as
// sequences. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/tensor/kv_view.h"

namespace tessera {

class FreeSlots {
 public:
  // A scatter_seed other than 0 turns the rule off: each slot is then any free slot (for tests).
  FreeSlots(int slots, uint64_t scatter_seed);

  struct Request {
    int position;  // The first of the `count` positions.
    int count;
    int after;     // The slot of position - 1, or -1.
  };
  // Returns slots for the positions in order; not all neighbours are merged. REQUIRES: 0 <= count <= this->count().
  std::vector<SlotRange> Take(Request request);

  // Returns the first free slots, regardless of the rule. REQUIRES: scatters() is false, and 0 <= count <= this->count().
  std::vector<SlotRange> TakeLowest(int count);

  // Frees the slots. Allocates nothing, so a sequence can end when memory is exhausted. REQUIRES: every slot of the range is taken.
  void Give(SlotRange range);

  // Gives up the free slots at the end for good, down to the slot `least`. Returns the new end of the slots.
  int DropEnd(int least);

  bool scatters() const { return scatter_seed_ != 0; }
  // Returns true if the slot is free. Always false when scattering, since neighbours do not matter then.
  bool Has(int32_t slot) const;
  int count() const { return count_; }

 private:
  SlotRange TakeRun(const Request& request);
  SlotRange TakeAny();
  std::vector<SlotRange>::iterator RunAfter(int32_t slot);   // The first run that begins after the slot.

  const uint64_t scatter_seed_;
  uint64_t draws_ = 0;
  int count_ = 0;
  int end_ = 0;                     // All slots are below the end.
  std::vector<int32_t> scattered_;  // Scattering only: every free slot.
  std::vector<SlotRange> runs_;     // Otherwise: the free runs in order; no two touch. Has capacity for the maximum number of runs.
};

}  // namespace tessera
