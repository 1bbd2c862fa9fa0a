#include "tessera/apps/compare/logit_comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/logit_math.h"

namespace tessera {
namespace {

// Returns sum p (log p - log q) of the distributions of the logits `p` and `q`.
double Divergence(absl::Span<const float> p, double p_sum, absl::Span<const float> q, double q_sum) {
  double divergence = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double log_p = p[i] - p_sum;
    divergence += std::exp(log_p) * (log_p - (q[i] - q_sum));
  }
  return divergence;
}

absl::Status AddToken(absl::Span<const float> yardstick, absl::Span<const float> logits, TokenId next, LogitComparison& comparison) {
  const double yardstick_sum = LogSumExp(yardstick), sum = LogSumExp(logits);
  if (std::isnan(yardstick_sum) || std::isnan(sum)) {
    return absl::InvalidArgumentError(absl::StrCat("logits before token ", next, ": found a NaN, expected numbers"));
  }
  const double expected = yardstick_sum - yardstick[static_cast<size_t>(next)], found = sum - logits[static_cast<size_t>(next)];
  comparison.yardstick_nll.Add(expected);
  comparison.nll.Add(found);
  comparison.difference.Add(found - expected);
  comparison.divergence.Add(Divergence(yardstick, yardstick_sum, logits, sum));
  comparison.agreement.Add(LargestLogits(yardstick, 1) == LargestLogits(logits, 1) ? 1 : 0);
  return absl::OkStatus();
}

// Compares the tokens `piece` of a window. next: the token after each.
absl::Status ComparePiece(Session& yardstick, Session& session, absl::Span<const TokenId> piece, absl::Span<const TokenId> next,
                          std::vector<float>& expected, LogitComparison& comparison) {
  size_t vocabulary = 0;
  RETURN_IF_ERROR(yardstick.AppendEach(piece, [&](int index, absl::Span<const float> logits) {
    vocabulary = logits.size();
    expected.resize(std::max(expected.size(), piece.size() * vocabulary));
    std::copy(logits.begin(), logits.end(), expected.begin() + static_cast<int64_t>(static_cast<size_t>(index) * vocabulary));
    return absl::OkStatus();
  }));
  return session.AppendEach(piece, [&](int index, absl::Span<const float> logits) {
    const absl::Span<const float> row(expected.data() + static_cast<size_t>(index) * vocabulary, vocabulary);
    return AddToken(row, logits, next[static_cast<size_t>(index)], comparison);
  });
}

}  // namespace

absl::Status CompareLogits(Session& yardstick, Session& session, absl::Span<const std::vector<TokenId>> windows,
                           LogitComparison& comparison, const std::function<void(int64_t tokens)>& on_tokens) {
  std::vector<float> expected;
  for (const std::vector<TokenId>& window : windows) {
    yardstick.Truncate(0);
    session.Truncate(0);
    const absl::Span<const TokenId> tokens = window;
    for (size_t begin = 0; begin + 1 < tokens.size(); begin += kComparedTogether) {
      const size_t count = std::min<size_t>(kComparedTogether, tokens.size() - 1 - begin);
      RETURN_IF_ERROR(
          ComparePiece(yardstick, session, tokens.subspan(begin, count), tokens.subspan(begin + 1, count), expected, comparison));
      if (on_tokens != nullptr) on_tokens(static_cast<int64_t>(count));
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
