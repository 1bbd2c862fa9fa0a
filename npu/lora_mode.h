// The three ways in which adapters of several tasks meet the weights that they share (paper 004, section 3.2).
//
//   ASSIGN_OR_RETURN(const LoraMode mode, LoraModeFromName("mask"));
//   Print(LoraModeName(mode));                                         // "mask"
//
// A row's bits are the same in all three (model/adapter_set.h): what differs is memory, what a run of a static graph takes, and what it
// takes to change the task. Thread-safe (pure functions).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class LoraMode : uint8_t {
  kInput,   // A and B are inputs of one graph, which has one rank at each matrix: smaller ones are padded.
  kMask,    // One graph has the adapters of all tasks side by side; a mask leaves out all but the text's own.
  kGraph,   // A graph for each task, with its own ranks, over shared weights.
};
inline constexpr int kLoraModes = 3;

// "input", "mask" or "graph"; WrongUsage (lora_mode) for anything else.
absl::StatusOr<LoraMode> LoraModeFromName(absl::string_view name);
absl::string_view LoraModeName(LoraMode mode);

}  // namespace tessera
