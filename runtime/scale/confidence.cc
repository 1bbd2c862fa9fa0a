#include "tessera/runtime/scale/confidence.h"

#include "tessera/base/elementary.h"
#include "tessera/model/text/logit_math.h"

namespace tessera {

void TextConfidence::Add(TokenId token, absl::Span<const float> logits) {
  const double sum = LogSumExp(logits);
  log_probability_ += logits[static_cast<size_t>(token)] - sum;
  certainty_ += sum - MeanLogit(logits) - elementary::Log(static_cast<double>(logits.size()));
  ++tokens_;
}

std::function<void(TokenId token, absl::Span<const float> logits)> TextConfidence::Listener() {
  return [this](TokenId token, absl::Span<const float> logits) { Add(token, logits); };
}

double WeightOfLogProbability(double mean_log_probability) { return elementary::Exp(mean_log_probability); }

}  // namespace tessera
