// The needs of streaming a model, for storage's memory plan (storage/stream_plan.h).
//
//   const StreamNeeds needs = WeightNeedsOf(config, layout);
//   ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(needs, /*budget=*/512 << 20));
//   BytesOfPass(needs, plan, /*head_readings=*/2);          // so much a pass reads if it computes logits in two parts
//
// A block of the model leases all its units at once. Units of an embedding table that is not also the head are leased in parts: a token
// needs one panel of the units. Pure functions.
#pragma once

#include <cstdint>

#include "tessera/model/files/config.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/stream_plan.h"

namespace tessera {

// Returns the needs. Groups are the units of each layer and of each part of the head; the head's units are pinned first.
StreamNeeds WeightNeedsOf(const ModelConfig& config, const WeightLayout& layout);

// Returns the bytes that a pass reads if the pass reads the head `head_readings` times.
int64_t BytesOfPass(const StreamNeeds& needs, const StreamPlan& plan, int head_readings);

}  // namespace tessera
