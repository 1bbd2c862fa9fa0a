#include "tessera/runtime/weight_plan.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/model/block_graph.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {
namespace {

std::vector<int> UnitsOf(const BlockGraph& block) {
  std::set<int> units;
  for (const TensorPart& part : block.parts) units.insert(part.unit);
  return {units.begin(), units.end()};
}

// Of the units of any block that are not pinned together, and of any one of them.
struct Largest { int64_t block = 0; int64_t unit = 0; };
Largest LargestStreamed(const WeightNeeds& needs, const PinPlan& pins) {
  Largest largest;
  for (const std::vector<int>& block : needs.blocks) {
    int64_t together = 0;
    for (const int unit : block) {
      if (pins.pinned[unit]) continue;
      together += needs.unit_bytes[unit];
      largest.unit = std::max(largest.unit, needs.unit_bytes[unit]);
    }
    largest.block = std::max(largest.block, together);
  }
  return largest;
}

int64_t LeastRing(const Largest& largest) { return LayerStreamer::RingBytesFor(largest.block, largest.unit); }
// Room for a block that is computed with and one that is read.
int64_t GoodRing(const Largest& largest) { return LayerStreamer::RingBytesFor(2 * largest.block, largest.unit); }

PinPlan NoPins(const WeightNeeds& needs) { return {.pinned = std::vector<bool>(needs.unit_bytes.size()), .bytes = 0}; }

// Of the units that `may` be pinned those that a pass streams, first; those of which it reads parts, with what is left.
PinPlan Pins(const WeightNeeds& needs, const std::vector<bool>& may, int64_t bytes, PinPolicy policy) {
  std::vector<int64_t> streamed, in_parts;
  std::vector<int> head;  // In `streamed`.
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) {
    if (!may[unit]) continue;
    if (std::binary_search(needs.head.begin(), needs.head.end(), static_cast<int>(unit))) head.push_back(static_cast<int>(streamed.size()));
    (needs.parts_only[unit] ? in_parts : streamed).push_back(needs.unit_bytes[unit]);
  }
  const PinPlan first = PlanPins(streamed, bytes, policy, head);
  const bool all = std::all_of(first.pinned.begin(), first.pinned.end(), [](bool pinned) { return pinned; });
  const PinPlan then = PlanPins(in_parts, all ? bytes - first.bytes : 0, policy);
  PinPlan pins = {.bytes = first.bytes + then.bytes};
  auto next_first = first.pinned.begin(), next_then = then.pinned.begin();
  for (size_t unit = 0; unit < may.size(); ++unit) {
    pins.pinned.push_back(may[unit] && (needs.parts_only[unit] ? *next_then++ : *next_first++));
  }
  return pins;
}

WeightPlan PlanOf(const WeightNeeds& needs, PinPlan pins, int64_t ring_bytes) {
  WeightPlan plan = {.pins = std::move(pins), .parts_only = needs.parts_only};
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) {
    if (!plan.pins.pinned[unit] && !needs.parts_only[unit]) plan.streamed_bytes += needs.unit_bytes[unit];
  }
  plan.ring_bytes = plan.streamed_bytes == 0 ? 0 : ring_bytes;
  plan.bytes = plan.pins.bytes + plan.ring_bytes + LayerStreamer::kPartsBytes;
  return plan;
}

}  // namespace

WeightNeeds WeightNeedsOf(const ModelConfig& config, const WeightLayout& layout) {
  WeightNeeds needs;
  for (int unit = 0; unit < layout.units(); ++unit) {
    needs.unit_bytes.push_back(AlignUp(layout.UnitBytes(unit), AlignedBuffer::kAlignment));
    needs.total_bytes += needs.unit_bytes.back();
  }
  needs.parts_only.assign(layout.units(), false);
  if (!config.tied_head) {
    for (const TensorPart& part : layout.Parts(EmbeddingNeed(config).name)) needs.parts_only[part.unit] = true;
  }
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    needs.blocks.push_back(UnitsOf(BuildLayerGraph(config, layout, layer)));
  }
  needs.blocks.push_back(UnitsOf(BuildOutputNormGraph(config, layout)));
  std::set<int> head;
  for (const BlockGraph& part : BuildHeadGraphs(config, layout)) {
    needs.blocks.push_back(UnitsOf(part));
    head.insert(needs.blocks.back().begin(), needs.blocks.back().end());
  }
  needs.head.assign(head.begin(), head.end());
  return needs;
}

int64_t BytesOfPass(const WeightNeeds& needs, const WeightPlan& plan, int head_readings) {
  int64_t bytes = plan.streamed_bytes;
  for (const int unit : needs.head) {
    if (!plan.pins.pinned[unit] && !needs.parts_only[unit]) bytes += (head_readings - 1) * needs.unit_bytes[unit];
  }
  return bytes;
}

int64_t LeastWeightBytes(const WeightNeeds& needs) {
  const int64_t streamed = LeastRing(LargestStreamed(needs, NoPins(needs)));
  return std::min(streamed, needs.total_bytes) + LayerStreamer::kPartsBytes;
}

absl::StatusOr<WeightPlan> PlanWeights(const WeightNeeds& needs, int64_t bytes, PinPolicy policy) {
  const int64_t least = LeastWeightBytes(needs), room = bytes - LayerStreamer::kPartsBytes;
  if (bytes < least)
    return absl::ResourceExhaustedError(absl::StrCat("memory for weights: found ", bytes, " bytes, expected at least ", least));
  const std::vector<bool> any(needs.unit_bytes.size(), true);
  if (policy != PinPolicy::kNone && room >= needs.total_bytes) return PlanOf(needs, Pins(needs, any, room, policy), 0);
  const Largest all = LargestStreamed(needs, NoPins(needs));
  const int64_t ring = room >= GoodRing(all) ? GoodRing(all) : LeastRing(all);
  if (room < ring) return PlanOf(needs, Pins(needs, any, room, PinPolicy::kSpread), 0);  // All of it fits where the ring would not.
  return PlanOf(needs, Pins(needs, any, room - ring, policy), ring);
}

int64_t LeastShrunkBytes(const WeightNeeds& needs, const WeightPlan& plan) {
  int64_t bytes = plan.bytes - plan.pins.bytes;
  for (size_t unit = 0; unit < needs.unit_bytes.size() && plan.ring_bytes == 0; ++unit) {
    if (plan.pins.pinned[unit] && !needs.parts_only[unit]) bytes += needs.unit_bytes[unit];
  }
  return bytes;
}

absl::StatusOr<WeightPlan> ShrinkWeights(const WeightNeeds& needs, const WeightPlan& plan, int64_t bytes, PinPolicy policy) {
  if (bytes >= plan.bytes) return plan;
  if (const int64_t least = LeastShrunkBytes(needs, plan); bytes < least) {
    return absl::ResourceExhaustedError(absl::StrCat("memory for weights: found ", bytes, " bytes, expected at least ", least));
  }
  const int64_t room = bytes - plan.ring_bytes - LayerStreamer::kPartsBytes;
  return PlanOf(needs, Pins(needs, plan.pins.pinned, room, plan.ring_bytes == 0 ? PinPolicy::kSpread : policy), plan.ring_bytes);
}

}  // namespace tessera
