// Chooses the units that stay in memory if not all can. The units are read again and again, in order, as a cycle.
//
//   ASSIGN_OR_RETURN(PinPolicy policy, ParsePinPolicy("auto"));
//   const PinPlan plan = PlanPins(unit_bytes, /*budget=*/512 << 20, policy);
//   if (plan.pinned[unit]) ...
//
// Any pinned byte saves the same amount of reading. The byte's place decides whether reading and computing overlap. While pinned units are
// in use, reading can run ahead only as far as the ring has room, and then the device idles. So kSpread pins units at even distances. kAuto
// first pins the units whose reading is hidden worst, which the caller names, and then spreads. kPrefix pins the first units, as Lever does
// (Table 6), for comparison (docs/storage.md). Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class PinPolicy { kAuto, kSpread, kPrefix, kNone };

// Parses "auto", "spread", "prefix" or "none". Any other name is WrongUsage (pin) with these names.
absl::StatusOr<PinPolicy> ParsePinPolicy(absl::string_view name);

struct PinPlan {
  std::vector<bool> pinned = {};   // [unit].
  int64_t bytes = 0;               // In pinned units, each rounded up to whole pages.
};

// Pins units of at most `budget` bytes together, each unit rounded up to whole pages. Pins all units if all fit, for every policy except
// kNone. first: different units that kAuto pins, if all of them fit, before the rest of the budget is spread over the others.
// REQUIRES: no size is negative.
PinPlan PlanPins(absl::Span<const int64_t> unit_bytes, int64_t budget, PinPolicy policy, absl::Span<const int> first = {});

}  // namespace tessera
