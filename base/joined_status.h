// Two errors as one, where a second thing is done although the first has failed, so that neither is passed over.
//
//   const absl::Status saved = SaveHistory();   // "history: cannot sync"
//   return Joined(saved, SaveCosts());          // "history: cannot sync; costs: cannot write"
//
// Thread-safe (a pure function).
#pragma once

#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// The one that failed, or the first with both messages, the same one once: the code and the marks (usage_error.h) are the first's. OK if
// both are.
absl::Status Joined(const absl::Status& first, const absl::Status& second);

}  // namespace tessera
