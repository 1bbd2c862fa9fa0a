// Checks that a graph can be run: every id exists, everything is written once and before any read, every shape fits.
//
//   RETURN_IF_ERROR(CheckGraph(graph));
//
// Compile calls CheckGraph. After that no device needs to check ids, columns or attributes again.
//
// Threads: thread-safe (pure function).
#pragma once

#include "absl/status/status.h"
#include "tessera/npu/graph.h"

namespace tessera {

// Checks the graph. InvalidArgument names the operator (index and kind), the buffer or weight, the value found and the value expected.
absl::Status CheckGraph(const Graph& graph);

}  // namespace tessera
