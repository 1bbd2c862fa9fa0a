// Proves that a graph can be run: every id exists, everything is written once and before it is read, every shape fits.
//
//   RETURN_IF_ERROR(CheckGraph(graph));
//
// Compile calls it; after it no device needs to look at ids, columns or attributes again. Thread-safe (pure function).
#pragma once

#include "absl/status/status.h"
#include "tessera/npu/graph.h"

namespace tessera {

// InvalidArgument names the operator (index and kind), the buffer or weight, the value found and the value expected.
absl::Status CheckGraph(const Graph& graph);

}  // namespace tessera
