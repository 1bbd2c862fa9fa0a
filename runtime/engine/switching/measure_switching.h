// Measures the layers' times with graphs of several row counts, and the graphs' loading times: the warm-up of an engine that switches
// graphs.
//
//   ASSIGN_OR_RETURN(const std::vector<GraphTimes> graphs, MeasureGraphTimes(*engine, {32, 256}));   // per layer
//   ASSIGN_OR_RETURN(const std::vector<SwitchTimes> times, MeasureSwitchTimes(*engine));    // per block, as the engine is cut now
//   RETURN_IF_ERROR(CoreOf(*engine).motion()->SetTimes(times));
//
// For each row count there are two passes, walked layer by layer and timed by the engine's clock. The first pass has two rows and waits for
// loads. The second pass has as many rows as the largest graph. The device tells the cost of loads after the first pass. A block is loaded
// as a whole, so the block's cost has the part that does not grow with bytes only once. In the end the prefill graphs of all blocks are
// loaded again.
// Threads: as Engine.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/graph_switch.h"
#include "tessera/npu/switch_choice.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Returns the times per layer, in the order of `rows`. FailedPrecondition for an engine that does not switch, or before the engine's
// weights are loaded. InvalidArgument (found, expected) unless `rows` ascend and the model was compiled for graphs of these rows. Also
// returns the first error of a pass.
absl::StatusOr<std::vector<GraphTimes>> MeasureGraphTimes(Engine& engine, absl::Span<const int> rows);

// Returns the times of the engine's own graphs, by block. Errors: as MeasureGraphTimes.
absl::StatusOr<std::vector<SwitchTimes>> MeasureSwitchTimes(Engine& engine);

// Runs a pass of two rows, which waits for the graphs that are being loaded for the pass. Errors: as MeasureGraphTimes.
absl::Status AwaitGraphs(Engine& engine);

}  // namespace tessera
