// How a model is run on a phone's NPU: which processor computes each part, and whether shapes are fixed beforehand.
//
//   ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName("static"));
//   if (style.static_graphs) ...                       // a run costs what the graph's rows cost, whether they are there or not
//
// operators  operators are called one by one through a mailbox (the test-time scaling paper): shapes are free, data lies in the layout that
//            operators need, attention and 2^x are computed as in the paper, the CPU computes matrices without tiles (the head)
// static     graphs are compiled for rows and context (the one-for-all paper, QNN): all on the NPU, keys and values of 8 bits; graphs of
//            one model share weights
// unshared   like static, but graphs of other row capacities have separate weights, and the CPU computes attention and head (sd.npu, both
//            versions)
//
// Threads: thread-safe (plain data).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class ComputePlace : uint8_t { kNpu, kCpu };

struct ExecutionStyle {
  const char* name = "operators";
  bool static_graphs = false;                     // If false, operators run by mailbox.
  bool shared_weights = true;                     // Graphs of different row capacities share weights.
  ComputePlace attention = ComputePlace::kNpu;
  ComputePlace plain_matrices = ComputePlace::kCpu;   // Matrices without tiles. On the NPU: 8 bits, a scale per output.
  double key_value_bytes = 2;                     // Bytes of each number in the cache.
};

// Returns whether attention covers the whole context that a static graph was compiled for. Attention on the CPU covers the present
// positions alone.
inline bool SeesWholeContext(const ExecutionStyle& style) { return style.static_graphs && style.attention == ComputePlace::kNpu; }

absl::Span<const ExecutionStyle> ExecutionStyles();

// NotFound lists the known names.
absl::StatusOr<ExecutionStyle> ExecutionStyleByName(absl::string_view name);

}  // namespace tessera
