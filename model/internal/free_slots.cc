#include "tessera/model/internal/free_slots.h"

#include <algorithm>
#include <numeric>

#include "glog/logging.h"
#include "tessera/base/random.h"

namespace tessera {

FreeSlots::FreeSlots(int slots, uint64_t scatter_seed) : scatter_seed_(scatter_seed), count_(slots) {
  if (scatter_seed_ == 0) {
    Insert({0, slots});
  } else {
    scattered_.resize(slots);
    std::iota(scattered_.begin(), scattered_.end(), 0);
  }
}

std::vector<SlotRange> FreeSlots::Take(Request request) {
  CHECK(request.count >= 0 && request.count <= count_) << request.count << " slots wanted, " << count_ << " free";
  std::vector<SlotRange> taken;
  while (request.count > 0) {
    const SlotRange run = scatter_seed_ == 0 ? TakeRun(request) : TakeAny();
    taken.push_back(run);
    request.position += run.count;
    request.count -= run.count;
    request.after = run.begin + run.count - 1;
    count_ -= run.count;
  }
  return taken;
}

void FreeSlots::Give(SlotRange range) {
  count_ += range.count;
  if (scatter_seed_ != 0) {
    for (int i = 0; i < range.count; ++i) scattered_.push_back(range.begin + i);
    return;
  }
  auto next = runs_.lower_bound(range.begin);
  CHECK(next == runs_.end() || next->first >= range.begin + range.count) << "slot " << next->first << " was free already";
  if (next != runs_.begin()) {
    const SlotRange before = {std::prev(next)->first, std::prev(next)->second};
    CHECK_LE(before.begin + before.count, range.begin) << "slot " << range.begin << " was free already";
    if (before.begin + before.count == range.begin) {
      Erase(before);
      range = {before.begin, before.count + range.count};
    }
  }
  if (next != runs_.end() && next->first == range.begin + range.count) {
    const SlotRange after = {next->first, next->second};
    Erase(after);
    range.count += after.count;
  }
  Insert(range);
}

bool FreeSlots::Has(int32_t slot) const {
  const auto after = runs_.upper_bound(slot);
  return after != runs_.begin() && slot < std::prev(after)->first + std::prev(after)->second;
}

// Up to request.count slots side by side.
SlotRange FreeSlots::TakeRun(const Request& request) {
  // A free run that holds the slot after a taken one begins with it.
  auto found = request.after < 0 ? runs_.end() : runs_.find(request.after + 1);
  int skipped = 0;
  if (found == runs_.end()) {
    found = runs_.find(by_size_.begin()->second);
    constexpr int kBlock = KvView::kSlotsPerBlock;
    skipped = (request.position % kBlock - found->first % kBlock + kBlock) % kBlock;
    if (skipped >= found->second) skipped = 0;  // This run has no such slot; a badly placed slot is better than none.
  }
  const SlotRange run = {found->first, found->second};
  const SlotRange taken = {run.begin + skipped, std::min(run.count - skipped, request.count)};
  Erase(run);
  Insert({run.begin, skipped});
  Insert({taken.begin + taken.count, run.count - skipped - taken.count});
  return taken;
}

SlotRange FreeSlots::TakeAny() {
  const uint64_t chosen = CounterRandom(scatter_seed_, /*stream=*/0, draws_++) % scattered_.size();
  std::swap(scattered_[chosen], scattered_.back());
  const SlotRange taken = {scattered_.back(), 1};
  scattered_.pop_back();
  return taken;
}

void FreeSlots::Insert(SlotRange run) {
  if (run.count == 0) return;
  runs_.emplace(run.begin, run.count);
  by_size_.emplace(-run.count, run.begin);
}

void FreeSlots::Erase(SlotRange run) {
  runs_.erase(run.begin);
  by_size_.erase({-run.count, run.begin});
}

}  // namespace tessera
