// Searches for the order and the begins of loads that finish a prompt's reading and the switch to decode graphs soonest.
//
//   std::optional<std::vector<SwitchLoad>> loads = SearchSwitch(costs, /*to_beat=*/1.25);
//
// The search is a beam search over compute steps. A state is the set of switched blocks when the loader is free, at a step's begin or
// within a step. At each step, states with equal numbers of switched blocks compete. States that cannot end before `to_beat`, or before the
// best plan found, are dropped. The beam is widened until no state had to be dropped or enough work is done. If no state was dropped, the
// best plan is found (small models). Deterministic.
#pragma once

#include <optional>
#include <vector>

#include "tessera/npu/internal/graph_switch_costs.h"

namespace tessera {

// Returns loads that end before `to_beat` seconds, or nullopt if the search finds none.
std::optional<std::vector<SwitchLoad>> SearchSwitch(const SwitchCosts& costs, double to_beat);

}  // namespace tessera
