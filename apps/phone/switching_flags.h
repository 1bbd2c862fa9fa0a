// --switching and --blocks: when graphs of a modeled phone, or of this machine, change places, where graphs of other rows have weights of
// their own.
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

// OK unless one of the flags asks for switching; `found` says what is found instead of graphs that could.
absl::Status CheckNoSwitchingFlags(absl::string_view found);

// Sets graph_rows, switching and warm_up, whose profile is kept beside the model. False, and nothing set: graphs are not switched.
// REQUIRES: the options have a model's path, a context and a row capacity.
absl::StatusOr<bool> SwitchingOfFlags(const Phone& phone, std::function<void(const SwitchReady&)> on_ready, EngineOptions& options);

// The same for graphs of this machine that hold their weights. Where it is false, graph_rows are those of a decode graph, so that each
// block has both.
absl::StatusOr<bool> HostSwitchingOfFlags(std::function<void(const SwitchReady&)> on_ready, EngineOptions& options);

}  // namespace tessera
