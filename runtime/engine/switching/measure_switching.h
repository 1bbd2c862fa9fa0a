// Measures what layers take by graphs of several row counts, and what loading those takes: the warm-up of an engine that switches.
//
//   ASSIGN_OR_RETURN(const std::vector<GraphTimes> graphs, MeasureGraphTimes(*engine, {32, 256}));   // per layer
//   ASSIGN_OR_RETURN(const std::vector<SwitchTimes> times, MeasureSwitchTimes(*engine));    // per block, as the engine is cut now
//   RETURN_IF_ERROR(CoreOf(*engine).motion()->SetTimes(times));
//
// For each row count a pass of two rows, which waits for loads, then one of as many rows as the largest graph has, walked layer by layer
// by the engine's clock. Loads are what the device says they cost after the first pass; a block, which is loaded as one, has once what
// does not grow with bytes. All blocks have their prefill graphs again in the end, loaded. Threads: those of the engine.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/graph_switch.h"
#include "tessera/npu/switch_choice.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// In the order of `rows`. FailedPrecondition for an engine that does not switch, or before its weights are loaded; InvalidArgument (found,
// expected) unless rows ascend and are of graphs that the model was compiled for; the first error of a pass.
absl::StatusOr<std::vector<GraphTimes>> MeasureGraphTimes(Engine& engine, absl::Span<const int> rows);

// Those of the engine's own graphs, by block. Errors as above.
absl::StatusOr<std::vector<SwitchTimes>> MeasureSwitchTimes(Engine& engine);

// A pass of two rows: whatever is being loaded for it is there afterwards. Errors as above.
absl::Status AwaitGraphs(Engine& engine);

}  // namespace tessera
