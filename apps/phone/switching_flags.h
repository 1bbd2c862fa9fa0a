// --switching and --blocks: the times when graphs of a modeled phone, or of this machine, change places. Used where each graph has weights
// of its own.
//
//   RETURN_IF_ERROR(CheckNoSwitchingFlags("without --device"));                              // nothing is switched there
//   ASSIGN_OR_RETURN(bool switches, SwitchingOfFlags(phone, on_ready, options));             // graphs, switching and its warm-up
//   ASSIGN_OR_RETURN(switches, HostSwitchingOfFlags(on_ready, options));                     // the same with --device=host:unshared
//
// Errors are wrong usage of the flag. Threads: one at a time.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/plan/phone_report.h"

namespace tessera {

// Returns an error if one of the flags asks for switching. `found`: names the setting that excludes switching, for the error.
absl::Status CheckNoSwitchingFlags(absl::string_view found);

// Sets graph_rows, switching and warm_up; the warm-up's profile is kept in a file next to the model. Returns false, and sets nothing, if
// graphs are not switched. REQUIRES: the options have a model's path, a context and a row capacity.
absl::StatusOr<bool> SwitchingOfFlags(const Phone& phone, std::function<void(const SwitchReady&)> on_ready, EngineOptions& options);

// Sets the same options for graphs of this machine that hold weights of their own. If the result is false, graph_rows still has the rows of
// a decode graph, so that each block has both graphs.
absl::StatusOr<bool> HostSwitchingOfFlags(std::function<void(const SwitchReady&)> on_ready, EngineOptions& options);

}  // namespace tessera
