// --dry_run: what a run would load and how much memory it would take, computed without reading weights.
//
//   if (FLAGS_dry_run) return ShowLoadPlan(options);
//
// The total is the most memory that the process will have: when a pass has had all its rows and the context is full. Shorter texts take
// less; under a budget the total is never more than the budget. Program and tokenizer are measured, since they are loaded already. With
// --json it is an object. Standard error says which files a run would write. Errors are those of loading.
#pragma once

#include "absl/status/status.h"
#include "tessera/runtime/engine.h"

namespace tessera {

absl::Status ShowLoadPlan(const EngineOptions& options);

}  // namespace tessera
