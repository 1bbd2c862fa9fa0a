// Chooses the units that stay in memory when not all can: those of a cycle that is read again and again, in order.
//
//   ASSIGN_OR_RETURN(PinPolicy policy, ParsePinPolicy("auto"));
//   const PinPlan plan = PlanPins(unit_bytes, /*budget=*/512 << 20, policy);
//   if (plan.pinned[unit]) ...
//
// Any pinned byte saves the same amount of reading; where it lies decides whether reading and computing overlap. While pinned units are
// computed with, reading can run ahead only as far as the ring has room, and then the device idles. So kSpread pins units at even
// distances. kAuto first pins the units whose reading is hidden worst, which its caller names, and then spreads. kPrefix pins the first
// units, as Lever does (Table 6), for comparison (docs/storage.md). Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class PinPolicy { kAuto, kSpread, kPrefix, kNone };

// "auto", "spread", "prefix" or "none"; else WrongUsage (pin) with these names.
absl::StatusOr<PinPolicy> ParsePinPolicy(absl::string_view name);

struct PinPlan {
  std::vector<bool> pinned = {};   // [unit].
  int64_t bytes = 0;               // In pinned units, each rounded up to whole pages.
};

// The units' bytes, rounded up to whole pages, are at most `budget` together. All are pinned if they fit, whatever the policy but
// kNone. first: different units that kAuto pins, if all of them fit, before it spreads what is left over the others.
// REQUIRES: no size is negative.
PinPlan PlanPins(absl::Span<const int64_t> unit_bytes, int64_t budget, PinPolicy policy, absl::Span<const int> first = {});

}  // namespace tessera
