// Two errors as one, where a second thing is done although the first has failed, so that neither is passed over; and an error with another
// message.
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

// The one that failed, or the first with both messages, the same one once: the code and the marks (usage_error.h) are the first's. OK if
// both are.
absl::Status Joined(const absl::Status& first, const absl::Status& second);

// Returns the error with another message. Its code and its marks stay. REQUIRES: an error.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace tessera
