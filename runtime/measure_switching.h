// Measures what blocks take by their prefill and decode graphs, and what loading those takes: the warm-up of an engine that switches.
//
//   ASSIGN_OR_RETURN(const std::vector<SwitchTimes> times, MeasureSwitchTimes(*engine));    // once per model, device and rows
//   RETURN_IF_ERROR(CoreOf(*engine).motion()->SetTimes(times));
//
// Two passes of a whole chunk by each kind of graph, on a session of its own; the second counts, since the first waits for loads. All
// blocks have their prefill graphs again in the end. Loads are what the device says they cost. Blocks are equal shares of the layers, so
// each gets its share of a pass.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/npu/graph_switch.h"
#include "tessera/runtime/engine.h"

namespace tessera {

// FailedPrecondition for an engine that does not switch, or before its weights are loaded; the first error of a pass.
absl::StatusOr<std::vector<SwitchTimes>> MeasureSwitchTimes(Engine& engine);

}  // namespace tessera
