// The free slots of a KV cache, as runs, and the rule by which they are given out.
//
//   FreeSlots free(/*slots=*/1024, /*scatter_seed=*/0);
//   std::vector<SlotRange> taken = free.Take({.position = 0, .count = 20, .after = -1});   // {{0, 20}}
//   taken = free.Take({.position = 20, .count = 1, .after = 19});                          // {{20, 1}}
//   free.Give({0, 21});
//
// The rule: go on at the slot right after the sequence's last one while it is free. Otherwise begin in the largest free run, at its first
// slot with slot % 16 == position % 16. Attention reads such runs as whole vectors. The sequence that owns the slots before keeps up to 15
// slots to grow into, so siblings do not cut each other into single slots. Take and Give cost a walk over the free runs, of which there are
// about as many as sequences. Thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/tensor/kv_view.h"

namespace tessera {

class FreeSlots {
 public:
  // With a scatter_seed other than 0 the rule is off, and each slot given out is any of the free ones (for tests).
  FreeSlots(int slots, uint64_t scatter_seed);

  struct Request {
    int position;  // The first of the `count` positions.
    int count;
    int after;     // The slot of position - 1, or -1.
  };
  // Slots for the positions in order; not all neighbours are merged. REQUIRES: 0 <= count <= this->count().
  std::vector<SlotRange> Take(Request request);

  // The first free slots, whatever the rule. REQUIRES: it does not scatter, and 0 <= count <= this->count().
  std::vector<SlotRange> TakeLowest(int count);

  // Allocates nothing: a text can end where memory has ended. REQUIRES: every slot of the range is taken.
  void Give(SlotRange range);

  // Gives up the free slots at the end for good, as far down as the slot `least`. Returns where the slots end then.
  int DropEnd(int least);

  bool scatters() const { return scatter_seed_ != 0; }
  // Whether the slot is free. When scattering, always false, since neighbours do not matter then.
  bool Has(int32_t slot) const;
  int count() const { return count_; }

 private:
  SlotRange TakeRun(const Request& request);
  SlotRange TakeAny();
  std::vector<SlotRange>::iterator RunAfter(int32_t slot);   // The first run that begins after the slot.

  const uint64_t scatter_seed_;
  uint64_t draws_ = 0;
  int count_ = 0;
  int end_ = 0;                     // All slots are below it.
  std::vector<int32_t> scattered_;  // Scattering only: every free slot.
  std::vector<SlotRange> runs_;     // Else: the free runs in order; no two touch. It has memory for as many as there can be.
};

}  // namespace tessera
