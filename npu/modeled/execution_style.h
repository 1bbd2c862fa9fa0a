// How a model is run on a phone's NPU: by whom its parts are computed, and whether shapes are fixed beforehand.
//
//   ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName("static"));
//   if (style.static_graphs) ...                       // a run costs what the graph's rows cost, whether they are there or not
//
// operators  operators are called one by one through a mailbox (paper 001): shapes are free, all lies where operators ask for it, attention
//            and 2^x are its own, matrices that have no tiles (the head) are the CPU's
// static     graphs are compiled for rows and context (paper 004, QNN): all on the NPU, keys and values of 8 bits; graphs of one model
//            share its weights
// unshared   the same, but graphs of other rows have weights of their own, attention and head are the CPU's (papers 000 and 003)
//
// Plain data: thread-safe.
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
  bool static_graphs = false;                     // Else operators by mailbox.
  bool shared_weights = true;                     // Graphs of other row capacities need no weights of their own.
  ComputePlace attention = ComputePlace::kNpu;
  ComputePlace plain_matrices = ComputePlace::kCpu;   // Those without tiles. On the NPU: 8 bits, a scale per output.
  double key_value_bytes = 2;                     // Each number that the cache keeps.
};

// Attention of a static graph goes over the context that it was compiled for; the CPU's over what is there.
inline bool SeesWholeContext(const ExecutionStyle& style) { return style.static_graphs && style.attention == ComputePlace::kNpu; }

absl::Span<const ExecutionStyle> ExecutionStyles();

// NotFound names those that are known.
absl::StatusOr<ExecutionStyle> ExecutionStyleByName(absl::string_view name);

}  // namespace tessera
