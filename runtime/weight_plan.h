// Shares out the memory there is for weights: the units that stay, and the ring through which the others are streamed.
//
//   const WeightNeeds needs = WeightNeedsOf(config, layout);
//   ASSIGN_OR_RETURN(const WeightPlan plan, PlanWeights(needs, /*bytes=*/512 << 20, PinPolicy::kAuto));
//   if (plan.streamed_bytes > 0) ...                       // so much is read in each pass
//
// The ring comes first: a block of the model leases all its units at once. What is left is for pins, until so much of the model is
// pinned that the ring could no longer hide reading anyway. Units of an embedding table that is not the head, too, are pinned last:
// a token needs one panel of them. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/pin_plan.h"

namespace tessera {

// What streaming a model takes.
struct WeightNeeds {
  std::vector<int64_t> unit_bytes;         // Whole pages.
  std::vector<bool> parts_only;            // Units of which a pass reads no more than some rows.
  std::vector<std::vector<int>> blocks;    // Units that are leased at once: of each layer, of each part of the head.
  std::vector<int> head;                   // Units of the head, which PinPolicy::kAuto pins first.
  int64_t total_bytes = 0;
};
WeightNeeds WeightNeedsOf(const ModelConfig& config, const WeightLayout& layout);

struct WeightPlan {
  PinPlan pins;
  std::vector<bool> parts_only;
  int64_t ring_bytes = 0;                  // 0: nothing is streamed.
  int64_t streamed_bytes = 0;              // Of a pass.
  int64_t bytes = 0;                       // In memory: pins, ring, and where parts of units are read.
};

// What a pass reads in which the head is read so many times.
int64_t BytesOfPass(const WeightNeeds& needs, const WeightPlan& plan, int head_readings);

// The least that PlanWeights can do with.
int64_t LeastWeightBytes(const WeightNeeds& needs);

// ResourceExhausted (found, expected) if `bytes` are fewer than that.
absl::StatusOr<WeightPlan> PlanWeights(const WeightNeeds& needs, int64_t bytes, PinPolicy policy);

// The least that ShrinkWeights can do with: without pins but, where there is no ring, those of which a pass reads more than parts.
int64_t LeastShrunkBytes(const WeightNeeds& needs, const WeightPlan& plan);

// What is left of a plan that is carried out when there is less memory: some of its pins, its ring as it is. ResourceExhausted (found,
// expected) if `bytes` are fewer than the least.
absl::StatusOr<WeightPlan> ShrinkWeights(const WeightNeeds& needs, const WeightPlan& plan, int64_t bytes, PinPolicy policy);

}  // namespace tessera
