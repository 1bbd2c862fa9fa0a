// Searches for the order and the begins of loads that make a prompt's reading and the switch to decode graphs end soonest.
//
//   std::optional<std::vector<SwitchLoad>> loads = SearchSwitch(costs, /*to_beat=*/1.25);
//
// A beam search over compute steps. A state is what is switched when the loader is free: at a step's begin, or within a step. States of
// equally many switched blocks compete at each step, and those that cannot end before `to_beat`, or the best found, are dropped. The beam
// is widened until nothing had to be dropped (then the best plan is found: small models) or enough work is done. Deterministic.
#pragma once

#include <optional>
#include <vector>

#include "tessera/npu/internal/graph_switch_costs.h"

namespace tessera {

// Loads that end before `to_beat` seconds, or none if none were found.
std::optional<std::vector<SwitchLoad>> SearchSwitch(const SwitchCosts& costs, double to_beat);

}  // namespace tessera
