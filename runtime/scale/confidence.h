// Measures a model's confidence in a text, whether generated or given: scores of samples from the logits alone, without another model.
//
//   TextConfidence confidence;
//   GenerateOptions options = {.on_token = confidence.Listener()};       // each token with the logits that it was chosen from
//   ...
//   confidence.mean_log_probability();                                   // -0.31: of a token, in nats
//   confidence.self_certainty();                                         // 14.2: how far from all tokens being as likely
//
// Both scores use the model's own distribution: logits at temperature 1, before penalties and limits of the sampler. The mean
// log-probability is the weight of Wang et al. 2022 (arXiv 2203.11171, section 3.1, "normalized"). Self-certainty is the mean divergence of
// the uniform distribution from the model's (Kang et al. 2025, arXiv 2502.18581, section 3). The divergence is log-sum-exp minus the mean
// of the logits, minus the log of the number of logits.
//
// Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/token.h"

namespace tessera {

// Sums confidence scores over the tokens of a text.
class TextConfidence {
 public:
  // Adds a token. logits: [vocabulary], which `token` was chosen from. REQUIRES: `token` is in the vocabulary. Logits that are no numbers
  // give scores that are no numbers. Select ranks such scores lowest.
  void Add(TokenId token, absl::Span<const float> logits);
  // Returns Add as a function for GenerateOptions::on_token. This object must outlive the function, and not be moved meanwhile.
  std::function<void(TokenId token, absl::Span<const float> logits)> Listener();

  int64_t tokens() const { return tokens_; }
  // Both return 0 without tokens.
  double mean_log_probability() const { return Mean(log_probability_); }
  double self_certainty() const { return Mean(certainty_); }

 private:
  double Mean(double sum) const { return tokens_ == 0 ? 0 : sum / static_cast<double>(tokens_); }

  int64_t tokens_ = 0;
  double log_probability_ = 0, certainty_ = 0;   // Sums over the tokens.
};

// Returns exp(mean_log_probability): above 0, up to 1. This is the weight of a sample's vote.
double WeightOfLogProbability(double mean_log_probability);

}  // namespace tessera
