// Computes figures of a row of logits: for reports, and to tell how sure a model is.
//
//   double nll = LogSumExp(logits) - logits[token];            // minus the log-probability of a token, in nats
//   for (TokenId token : LargestLogits(logits, 20)) Print(token, logits[token]);
//
// Thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/token.h"

namespace tessera {

// Returns log(sum(exp(logits))), within 3e-7 plus a rounding of the largest logit: less than a row's own rounding. The result is the same
// on every machine. NaN if any logit is NaN; REQUIRES: not empty.
double LogSumExp(absl::Span<const float> logits);

// Returns the mean of the logits, summed in double precision in a fixed order. REQUIRES: not empty.
double MeanLogit(absl::Span<const float> logits);

// Returns the `count` largest logits' tokens (all tokens if there are fewer), the largest logit first, equal logits by the lowest id. NaN
// counts as -infinity.
std::vector<TokenId> LargestLogits(absl::Span<const float> logits, int count);

}  // namespace tessera
