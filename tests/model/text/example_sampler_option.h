// The step of docs/adding_a_sampler_option.md, which links here.
//
//   KeepWithinSigmas(logits, 1.0f);   // tokens far below the likeliest can no longer be chosen
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/types/span.h"

namespace tessera {

inline void KeepWithinSigmas(absl::Span<float> logits, float sigmas) {
  if (sigmas <= 0) return;   // 0 is off, as for top_k.
  double sum = 0, squares = 0, largest = -std::numeric_limits<double>::infinity();
  int64_t count = 0;
  for (const float logit : logits) {   // By ascending id, in double: the same sums on every machine.
    if (!std::isfinite(logit)) continue;
    sum += logit;
    squares += static_cast<double>(logit) * logit;
    largest = std::fmax(largest, logit);
    ++count;
  }
  if (count == 0) return;   // Sampler::Choose says that there are no numbers.
  const double mean = sum / static_cast<double>(count);
  const double variance = std::fmax(0.0, squares / static_cast<double>(count) - mean * mean);
  const double least = largest - sigmas * std::sqrt(variance);   // sqrt rounds alike everywhere; exp and log are elementary.h's.
  for (float& logit : logits) {
    if (logit < least) logit = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace tessera
