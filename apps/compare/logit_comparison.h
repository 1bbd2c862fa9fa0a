// Measures the loss where numbers are computed in another way. Two engines read the same text, and the logits are compared token by token.
//
//   LogitComparison comparison;
//   RETURN_IF_ERROR(CompareLogits(*yardstick_session, *session, windows, comparison));
//   double lost = comparison.Ratio() - 1;                        // 0.003: the perplexity is 0.3 % higher
//   double error = comparison.difference.Error95();              // about the error of its logarithm
//
// Both engines read a window in chunks: memory holds kComparedTogether rows of the yardstick's logits. A confidence interval is the
// interval of a mean over the compared tokens, as if the tokens were independent. Threads: one at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

// A mean, and an error bound.
class SampleMean {
 public:
  void Add(double value) {
    ++count_;
    const double step = value - mean_;
    mean_ += step / static_cast<double>(count_);
    squares_ += step * (value - mean_);
  }
  int64_t count() const { return count_; }
  double mean() const { return mean_; }
  // Returns half the width of the 95 % confidence interval of the mean; 0 for fewer than two values.
  double Error95() const {
    const double n = static_cast<double>(count_);
    return count_ < 2 ? 0 : 1.96 * std::sqrt(squares_ / (n - 1) / n);
  }

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;   // squares_: sum of squared distances from the mean.
};

struct LogitComparison {
  SampleMean yardstick_nll, nll;    // Minus the log-probability of the text's next token, in nats.
  SampleMean difference;            // nll less yardstick_nll, token by token.
  SampleMean divergence;            // Kullback-Leibler divergence from the yardstick's distribution, in nats.
  SampleMean agreement;             // 1 where the likeliest token is the same, else 0.

  double Perplexity() const { return std::exp(nll.mean()); }
  double YardstickPerplexity() const { return std::exp(yardstick_nll.mean()); }
  double Ratio() const { return std::exp(difference.mean()); }   // Between the perplexities.
};

inline constexpr int kComparedTogether = 32;   // Tokens of a chunk.

// Adds the tokens of all windows. In each window every token except the first is predicted from the tokens before. REQUIRES: the sessions
// belong to two engines with the same vocabulary, and a window has at least two tokens. InvalidArgument (token, found) if a logit is not a
// number. on_tokens, unless null, gets the number of tokens that were compared since the last call.
absl::Status CompareLogits(Session& yardstick, Session& session, absl::Span<const std::vector<TokenId>> windows,
                           LogitComparison& comparison, const std::function<void(int64_t tokens)>& on_tokens = nullptr);

}  // namespace tessera
