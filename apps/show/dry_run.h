// --dry_run: what a run would load and how much memory it would take, worked out without reading weights.
//
//   if (FLAGS_dry_run) return ShowLoadPlan(options);
//
// The total is the most memory the process will have, once a pass has had all its rows and the context is full; shorter texts take
// less; under a budget it is never more than that. Program and tokenizer are measured here, since here they are as they will be.
// An object with --json. Errors are those of
// loading.
#pragma once

#include "absl/status/status.h"
#include "tessera/runtime/engine.h"

namespace tessera {

absl::Status ShowLoadPlan(const EngineOptions& options);

}  // namespace tessera
