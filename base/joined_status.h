// Joins two errors into one, for code that does a second action although the first has failed, so that neither error is lost. Also replaces
// an error's message.
//
//   const absl::Status saved = SaveHistory();   // "history: cannot sync"
//   return Joined(saved, SaveCosts());          // "history: cannot sync; costs: cannot write"
//
// Thread-safe (pure functions).
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the failed status; if both failed, the first with both messages (equal messages once). The code and the marks (usage_error.h)
// come from the first. OK if both are OK.
absl::Status Joined(const absl::Status& first, const absl::Status& second);

// Returns the error with another message. The code and the marks stay. REQUIRES: an error.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace tessera
