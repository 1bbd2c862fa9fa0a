// Divides memory for the weights of a .tsr file between units that stay (pins) and the ring that the others pass through.
//
//   ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(*file, /*budget=*/512 << 20));
//   ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> source,
//                    LayerStreamer::Open(*file, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
//   if (plan.pass_bytes > 0) ...                           // so much is read in each pass
//
// The ring comes first, since the units that are leased at once must fit. With room for two such groups and a unit, one group is read while
// the other is in use. The rest is for pins. If all units that are leased whole fit, all are pinned, and there is no ring. Units of which
// only parts are leased are pinned last: reading parts costs little. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/storage/pin_plan.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

// The needs of streaming a file.
struct StreamNeeds {
  std::vector<int64_t> unit_bytes = {};         // Whole pages.
  std::vector<bool> parts_only = {};            // [unit]: only parts are leased.
  std::vector<std::vector<int>> together = {};  // Groups of units that are leased at once. Each unit leased whole is in a group.
  std::vector<int> first = {};                  // Units that PinPolicy::kAuto pins before all others. Ascending.
  int64_t total_bytes = 0;                      // The sum of unit_bytes.
};

// Returns the needs of units that are leased whole, `together` of them at once: any neighbours. REQUIRES: together >= 1.
StreamNeeds StreamNeedsOf(const TsrReader& file, int together = 1);

struct StreamPlan {
  PinPlan pins = {};
  std::vector<bool> parts_only = {};       // As in StreamNeeds.
  int64_t ring_bytes = 0;                  // 0: no unit is streamed.
  int64_t streamed_bytes = 0;              // All units that go through the ring.
  int64_t pass_bytes = 0;                  // Read in each pass after the first (LayerStreamer::ReadInPass).
  int64_t bytes = 0;                       // In memory: pins, ring, and the place for parts of units (LayerStreamer::kPartsBytes).
};

// Returns the least budget of PlanStreaming.
int64_t LeastStreamBytes(const StreamNeeds& needs);

// Plans at most `budget` bytes. ResourceExhausted (found, expected) if the budget is less than the least.
absl::StatusOr<StreamPlan> PlanStreaming(const StreamNeeds& needs, int64_t budget, PinPolicy policy = PinPolicy::kAuto);
// Plans for a file whose units are leased one at a time. Errors begin with the file's path.
absl::StatusOr<StreamPlan> PlanStreaming(const TsrReader& file, int64_t budget, PinPolicy policy = PinPolicy::kAuto);

// Returns the least budget of ShrinkStreaming: no pins or, if the plan has no ring, the pins that are leased whole.
int64_t LeastShrunkBytes(const StreamNeeds& needs, const StreamPlan& plan);

// Shrinks a plan in use for less memory: keeps some of the pins, and the ring as it is. ResourceExhausted (found, expected) if the budget
// is less than the least.
absl::StatusOr<StreamPlan> ShrinkStreaming(const StreamNeeds& needs, const StreamPlan& plan, int64_t budget, PinPolicy policy);

}  // namespace tessera
