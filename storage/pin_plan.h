// Chooses the units that stay in memory when not all can: those of a cycle that is read again and again, in order.
//
//   ASSIGN_OR_RETURN(PinPolicy policy, ParsePinPolicy("auto"));                        // the flag --pin
//   const PinPlan plan = PlanPins(unit_bytes, /*budget=*/512 << 20, policy);
//   if (plan.pinned[unit]) ...
//
// Whatever is pinned saves as much reading; where it lies decides whether reading and computing go on together. While pinned units
// compute, reading can run ahead no further than the ring has room, and then the device idles. So spread leaves a pinned unit after
// every few that are read, and auto does so once the units that reading hides worst are pinned, which its caller knows. prefix pins
// the first ones, as Lever does (Table 6), and is there to compare with (docs/storage.md). Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class PinPolicy { kAuto, kSpread, kPrefix, kNone };

// "auto", "spread", "prefix" or "none"; else InvalidArgument with these names.
absl::StatusOr<PinPolicy> ParsePinPolicy(absl::string_view name);

struct PinPlan {
  std::vector<bool> pinned = {};   // Of each unit.
  int64_t bytes = 0;          // Of those that are.
};

// The units' bytes, rounded up to whole pages, are at most `budget` together. All are pinned if they fit, whatever the policy but
// kNone. first: different units that kAuto pins, if all of them fit, before it spreads what is left over the others.
// REQUIRES: no size is negative.
PinPlan PlanPins(absl::Span<const int64_t> unit_bytes, int64_t budget, PinPolicy policy, absl::Span<const int> first = {});

}  // namespace tessera
