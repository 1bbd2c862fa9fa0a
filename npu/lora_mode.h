// The three ways to combine the adapters of several tasks with shared weights (the one-for-all paper, section 3.2).
//
//   ASSIGN_OR_RETURN(const LoraMode mode, LoraModeFromName("mask"));
//   Print(LoraModeName(mode));                                         // "mask"
//
// A row's bits are equal in all three modes (model/adapter_set.h). The modes differ in memory, in the time of a run of a static graph, and
// in the time to change the task.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class LoraMode : uint8_t {
  kInput,   // A and B are inputs of one graph with one rank at each matrix: smaller ranks are padded.
  kMask,    // One graph holds the adapters of all tasks together; a mask removes all except the adapter of the text.
  kGraph,   // One graph per task, with the task's own ranks, over shared weights.
};
inline constexpr int kLoraModes = 3;

// Returns the mode named "input", "mask" or "graph"; WrongUsage (lora_mode) for any other name.
absl::StatusOr<LoraMode> LoraModeFromName(absl::string_view name);
absl::string_view LoraModeName(LoraMode mode);

}  // namespace tessera
