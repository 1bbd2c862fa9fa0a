#include "tessera/model/internal/free_slots.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "glog/logging.h"
#include "tessera/base/random.h"

namespace tessera {

FreeSlots::FreeSlots(int slots, uint64_t scatter_seed) : scatter_seed_(scatter_seed), count_(slots), end_(slots) {
  if (scatter_seed_ == 0) {
    runs_.reserve(slots / 2 + 1);   // Every other slot. Unused capacity is never touched.
    runs_.push_back({0, slots});
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

std::vector<SlotRange> FreeSlots::TakeLowest(int count) {
  CHECK(!scatters() && count >= 0 && count <= count_) << count << " slots wanted, " << count_ << " free";
  std::vector<SlotRange> taken;
  count_ -= count;
  while (count > 0) {
    SlotRange& run = runs_.front();
    taken.push_back({run.begin, std::min(run.count, count)});
    count -= taken.back().count;
    run = {run.begin + taken.back().count, run.count - taken.back().count};
    if (run.count == 0) runs_.erase(runs_.begin());
  }
  return taken;
}

void FreeSlots::Give(SlotRange range) {
  count_ += range.count;
  if (scatter_seed_ != 0) {
    for (int i = 0; i < range.count; ++i) scattered_.push_back(range.begin + i);
    return;
  }
  const auto next = RunAfter(range.begin);
  const auto before = next == runs_.begin() ? runs_.end() : std::prev(next);
  const int32_t end = range.begin + range.count;
  CHECK(next == runs_.end() || next->begin >= end) << "slot " << next->begin << " was free already";
  CHECK(before == runs_.end() || before->begin + before->count <= range.begin) << "slot " << range.begin << " was free already";
  const bool joins_before = before != runs_.end() && before->begin + before->count == range.begin;
  const bool joins_next = next != runs_.end() && next->begin == end;
  if (joins_before) {
    before->count += range.count + (joins_next ? next->count : 0);
    if (joins_next) runs_.erase(next);
  } else if (joins_next) {
    *next = {range.begin, range.count + next->count};
  } else {
    runs_.insert(next, range);
  }
}

int FreeSlots::DropEnd(int least) {
  int end = end_;
  if (scatters()) {
    std::sort(scattered_.begin(), scattered_.end());
    for (; end > least && !scattered_.empty() && scattered_.back() == end - 1; --end) scattered_.pop_back();
  } else if (!runs_.empty() && runs_.back().begin + runs_.back().count == end) {
    end = std::min(end, std::max(runs_.back().begin, least));
    runs_.back().count = end - runs_.back().begin;
    if (runs_.back().count <= 0) runs_.pop_back();
  }
  count_ -= end_ - end;
  end_ = end;
  return end;
}

bool FreeSlots::Has(int32_t slot) const {
  return std::any_of(runs_.begin(), runs_.end(), [=](SlotRange run) { return run.begin <= slot && slot < run.begin + run.count; });
}

std::vector<SlotRange>::iterator FreeSlots::RunAfter(int32_t slot) {
  return std::upper_bound(runs_.begin(), runs_.end(), slot, [](int32_t at, SlotRange run) { return at < run.begin; });
}

// Takes up to request.count neighbouring slots.
SlotRange FreeSlots::TakeRun(const Request& request) {
  // A free run that holds the slot after a taken one begins with it.
  auto found = RunAfter(request.after);
  int skipped = 0;
  if (request.after < 0 || found == runs_.end() || found->begin != request.after + 1) {
    // The first of the largest runs.
    found = std::max_element(runs_.begin(), runs_.end(), [](SlotRange a, SlotRange b) { return a.count < b.count; });
    constexpr int kBlock = KvView::kSlotsPerBlock;
    skipped = (request.position % kBlock - found->begin % kBlock + kBlock) % kBlock;
    if (skipped >= found->count) skipped = 0;  // This run has no such slot; a badly placed slot is better than none.
  }
  const SlotRange run = *found;
  const SlotRange taken = {run.begin + skipped, std::min(run.count - skipped, request.count)};
  const SlotRange rest = {taken.begin + taken.count, run.count - skipped - taken.count};
  if (skipped > 0 && rest.count > 0) {
    *found = rest;
    runs_.insert(found, {run.begin, skipped});
  } else if (skipped > 0 || rest.count > 0) {
    *found = skipped > 0 ? SlotRange{run.begin, skipped} : rest;
  } else {
    runs_.erase(found);
  }
  return taken;
}

SlotRange FreeSlots::TakeAny() {
  const uint64_t chosen = CounterRandom(scatter_seed_, /*stream=*/0, draws_++) % scattered_.size();
  std::swap(scattered_[chosen], scattered_.back());
  const SlotRange taken = {scattered_.back(), 1};
  scattered_.pop_back();
  return taken;
}

}  // namespace tessera
