#include "tessera/storage/stream_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {
namespace {

// The most bytes of a group, and of a single unit that is leased whole, among units that are not pinned.
struct Largest { int64_t group = 0; int64_t unit = 0; };
Largest LargestStreamed(const StreamNeeds& needs, const PinPlan& pins) {
  Largest largest;
  for (const std::vector<int>& group : needs.together) {
    int64_t together = 0;
    for (const int unit : group) {
      if (pins.pinned[unit]) continue;
      together += needs.unit_bytes[unit];
      largest.unit = std::max(largest.unit, needs.unit_bytes[unit]);
    }
    largest.group = std::max(largest.group, together);
  }
  return largest;
}

int64_t LeastRing(const Largest& largest) { return LayerStreamer::RingBytesFor(largest.group, largest.unit); }
// Returns room for a group in use and a group that is read.
int64_t GoodRing(const Largest& largest) { return LayerStreamer::RingBytesFor(2 * largest.group, largest.unit); }

PinPlan NoPins(const StreamNeeds& needs) { return {.pinned = std::vector<bool>(needs.unit_bytes.size()), .bytes = 0}; }

// Pins units allowed by `may`: first units that are leased whole, then, with the remaining bytes, units that are leased in parts.
PinPlan Pins(const StreamNeeds& needs, const std::vector<bool>& may, int64_t bytes, PinPolicy policy) {
  std::vector<int64_t> streamed, in_parts;
  std::vector<int> before_others;  // In `streamed`.
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) {
    if (!may[unit]) continue;
    const bool first = std::binary_search(needs.first.begin(), needs.first.end(), static_cast<int>(unit));
    if (first) before_others.push_back(static_cast<int>(streamed.size()));
    (needs.parts_only[unit] ? in_parts : streamed).push_back(needs.unit_bytes[unit]);
  }
  const PinPlan first = PlanPins(streamed, bytes, policy, before_others);
  const bool all = std::all_of(first.pinned.begin(), first.pinned.end(), [](bool pinned) { return pinned; });
  const PinPlan then = PlanPins(in_parts, all ? bytes - first.bytes : 0, policy);
  PinPlan pins = {.bytes = first.bytes + then.bytes};
  auto next_first = first.pinned.begin(), next_then = then.pinned.begin();
  for (size_t unit = 0; unit < may.size(); ++unit) {
    pins.pinned.push_back(may[unit] && (needs.parts_only[unit] ? *next_then++ : *next_first++));
  }
  return pins;
}

StreamPlan PlanOf(const StreamNeeds& needs, PinPlan pins, int64_t ring_bytes) {
  StreamPlan plan = {.pins = std::move(pins), .parts_only = needs.parts_only};
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) {
    if (!plan.pins.pinned[unit] && !needs.parts_only[unit]) plan.streamed_bytes += needs.unit_bytes[unit];
  }
  plan.ring_bytes = plan.streamed_bytes == 0 ? 0 : ring_bytes;
  plan.pass_bytes = LayerStreamer::ReadInPass(plan.streamed_bytes, plan.ring_bytes);
  plan.bytes = plan.pins.bytes + plan.ring_bytes + LayerStreamer::kPartsBytes;
  return plan;
}

// Returns the bytes of all units that are leased whole.
int64_t WholeBytes(const StreamNeeds& needs) {
  int64_t bytes = 0;
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) bytes += needs.parts_only[unit] ? 0 : needs.unit_bytes[unit];
  return bytes;
}

absl::Status TooLittle(int64_t found, int64_t least) {
  return absl::ResourceExhaustedError(absl::StrCat("memory for weights: found ", found, " bytes, expected at least ", least));
}

}  // namespace

StreamNeeds StreamNeedsOf(const TsrReader& file, int together) {
  CHECK_GE(together, 1) << file.path();
  StreamNeeds needs = {.parts_only = std::vector<bool>(file.units())};
  for (int unit = 0; unit < file.units(); ++unit) {
    needs.unit_bytes.push_back(file.StoredBytes(unit));
    needs.total_bytes += needs.unit_bytes.back();
    std::vector<int>& group = needs.together.emplace_back(std::min(together, unit + 1));
    std::iota(group.begin(), group.end(), unit + 1 - static_cast<int>(group.size()));
  }
  return needs;
}

int64_t LeastStreamBytes(const StreamNeeds& needs) {
  return std::min(LeastRing(LargestStreamed(needs, NoPins(needs))), needs.total_bytes) + LayerStreamer::kPartsBytes;
}

absl::StatusOr<StreamPlan> PlanStreaming(const StreamNeeds& needs, int64_t budget, PinPolicy policy) {
  const int64_t least = LeastStreamBytes(needs), room = budget - LayerStreamer::kPartsBytes;
  if (budget < least) return TooLittle(budget, least);
  const std::vector<bool> any(needs.unit_bytes.size(), true);
  if (policy != PinPolicy::kNone && room >= WholeBytes(needs)) return PlanOf(needs, Pins(needs, any, room, policy), 0);
  const Largest all = LargestStreamed(needs, NoPins(needs));
  const int64_t ring = room >= GoodRing(all) ? GoodRing(all) : LeastRing(all);
  if (room < ring) return PlanOf(needs, Pins(needs, any, room, PinPolicy::kSpread), 0);  // All units fit where the ring would not.
  return PlanOf(needs, Pins(needs, any, room - ring, policy), ring);
}

absl::StatusOr<StreamPlan> PlanStreaming(const TsrReader& file, int64_t budget, PinPolicy policy) {
  absl::StatusOr<StreamPlan> plan = PlanStreaming(StreamNeedsOf(file), budget, policy);
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(), absl::StrCat(file.path(), ": ", plan.status().message()));
}

int64_t LeastShrunkBytes(const StreamNeeds& needs, const StreamPlan& plan) {
  int64_t bytes = plan.bytes - plan.pins.bytes;
  for (size_t unit = 0; unit < needs.unit_bytes.size() && plan.ring_bytes == 0; ++unit) {
    if (plan.pins.pinned[unit] && !needs.parts_only[unit]) bytes += needs.unit_bytes[unit];
  }
  return bytes;
}

absl::StatusOr<StreamPlan> ShrinkStreaming(const StreamNeeds& needs, const StreamPlan& plan, int64_t budget, PinPolicy policy) {
  if (budget >= plan.bytes) return plan;
  if (const int64_t least = LeastShrunkBytes(needs, plan); budget < least) return TooLittle(budget, least);
  const int64_t room = budget - plan.ring_bytes - LayerStreamer::kPartsBytes;
  return PlanOf(needs, Pins(needs, plan.pins.pinned, room, plan.ring_bytes == 0 ? PinPolicy::kSpread : policy), plan.ring_bytes);
}

}  // namespace tessera
