#include "tessera/spec/trees/rejection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The purpose of a draw: each purpose has random numbers of its own.
enum class Purpose : uint64_t { kChildren = 1, kTests = 2, kRest = 3 };

double Draw(const DrawKey& key, Purpose purpose, uint64_t index) {
  const uint64_t stream = CounterRandom(key.seed, key.stream, static_cast<uint64_t>(purpose));
  return CounterUniform(stream, static_cast<uint64_t>(key.position), index);
}

absl::Status Wrong(absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("rejection: found ", found, ", expected ", expected));
}

absl::Status CheckDrawn(const DrawnChildren& drawn, size_t vocabulary) {
  for (const TopToken& entry : drawn.distribution) {
    if (entry.token < 0 || static_cast<size_t>(entry.token) >= vocabulary) {
      return Wrong(absl::StrCat("the draft's token ", entry.token), absl::StrCat("0 to ", vocabulary - 1));
    }
    if (!(entry.probability >= 0 && entry.probability <= 1.001f)) return Wrong(absl::StrCat("probability ", entry.probability), "0 to 1");
  }
  for (auto token = drawn.tokens.begin(); token != drawn.tokens.end(); ++token) {
    if (std::find(drawn.tokens.begin(), token, *token) != token) return Wrong(absl::StrCat("token ", *token, " drawn twice"), "each once");
    const auto entry = std::find_if(drawn.distribution.begin(), drawn.distribution.end(),
                                    [&](const TopToken& entry) { return entry.token == *token; });
    if (entry == drawn.distribution.end() || !(entry->probability > 0)) {
      return Wrong(absl::StrCat("token ", *token, " drawn"), "one that its distribution gives a probability");
    }
  }
  return absl::OkStatus();
}

// The residuals of the target's distribution and of the draft's, as drafted tokens are rejected.
class Residual {
 public:
  Residual(absl::Span<const float> target, double mass, const DrawnChildren& drawn)
      : left_(target.begin(), target.end()), mass_(mass), distribution_(drawn.distribution.begin(), drawn.distribution.end()) {}

  // Returns whether the token is accepted, for a uniform draw. REQUIRES: the draft's distribution has the token.
  bool Accepts(TokenId token, double draw) const {
    return draw * DraftOf(token) * mass_ < left_[static_cast<size_t>(token)];
  }

  // Changes p to max(0, p - q), and removes the token from q. Returns false if nothing is left of p: then p is q, and a token of q is
  // rejected by rounding alone.
  bool Reject(TokenId token) {
    double taken_mass = 0, distribution_mass = DistributionMass();
    for (const TopToken& entry : distribution_) {
      double& left = left_[static_cast<size_t>(entry.token)];
      const double taken = std::min(left, mass_ * entry.probability / distribution_mass);
      left -= taken;
      taken_mass += taken;
    }
    for (TopToken& entry : distribution_) entry.probability = entry.token == token ? 0 : entry.probability;
    constexpr double kNothing = 1e-12;
    if (mass_ - taken_mass <= kNothing * mass_) return false;
    mass_ -= taken_mass;
    return true;
  }

  TokenId Sample(double draw) const {
    double sum = 0;
    for (const double left : left_) sum += left;
    double below = draw * sum;
    TokenId last = 0;
    for (size_t token = 0; token < left_.size(); ++token) {
      if (!(left_[token] > 0)) continue;
      last = static_cast<TokenId>(token);
      if (below < left_[token]) break;
      below -= left_[token];
    }
    return last;
  }

 private:
  double DistributionMass() const {
    double mass = 0;
    for (const TopToken& entry : distribution_) mass += entry.probability;
    return mass;
  }
  double DraftOf(TokenId token) const {
    double probability = 0;
    for (const TopToken& entry : distribution_) probability += entry.token == token ? entry.probability : 0;
    return probability / DistributionMass();
  }

  std::vector<double> left_;    // [vocabulary], mass_ together.
  double mass_;
  TopTokens distribution_;               // 0 for tested tokens.
};

}  // namespace

// Draws by Gumbel's rule: the largest of ln w - ln(-ln u) are draws without replacement, in this order (Yellott 1977; Kool et al. 2019).
DrawnChildren DrawChildren(absl::Span<const TopToken> candidates, const DraftSampling& sampling, const DrawKey& key) {
  CHECK(sampling.temperature > 0 && std::isfinite(sampling.temperature)) << "temperature " << sampling.temperature;
  CHECK_GE(sampling.children, 1);
  DrawnChildren drawn;
  std::vector<std::pair<double, TokenId>> keys;
  double largest = 0, sum = 0;
  for (const TopToken& entry : candidates) {
    CHECK(entry.probability >= 0 && std::isfinite(entry.probability)) << "probability " << entry.probability;
    largest = std::max(largest, static_cast<double>(entry.probability));
  }
  for (const TopToken& entry : candidates) {
    if (!(entry.probability > 0)) continue;
    const double log_weight = elementary::Log(entry.probability / largest) / sampling.temperature;
    const double weight = elementary::Exp(log_weight);
    if (!(static_cast<float>(weight) > 0)) continue;
    const double draw = Draw(key, Purpose::kChildren, static_cast<uint64_t>(entry.token));
    keys.push_back({log_weight - elementary::Log(-elementary::Log(draw)), entry.token});
    drawn.distribution.push_back({entry.token, static_cast<float>(weight)});
    sum += weight;
  }
  for (TopToken& entry : drawn.distribution) entry.probability = static_cast<float>(entry.probability / sum);
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [order, token] : keys) {
    if (drawn.tokens.size() < static_cast<size_t>(sampling.children)) drawn.tokens.push_back(token);
  }
  return drawn;
}

absl::StatusOr<TokenId> RejectionToken(absl::Span<const float> target, const DrawnChildren& drawn, const DrawKey& key) {
  double mass = 0;
  for (const float probability : target) {
    if (!(probability >= 0) || !std::isfinite(probability)) {
      return Wrong(absl::StrCat("a target probability of ", probability), "at least 0, and finite");
    }
    mass += probability;
  }
  if (!(mass > 0)) return Wrong(absl::StrCat("target probabilities of 0 for all ", target.size(), " tokens"), "more than 0 for some");
  RETURN_IF_ERROR(CheckDrawn(drawn, target.size()));
  Residual residual(target, mass, drawn);
  for (size_t i = 0; i < drawn.tokens.size(); ++i) {
    if (residual.Accepts(drawn.tokens[i], Draw(key, Purpose::kTests, i)) || !residual.Reject(drawn.tokens[i])) return drawn.tokens[i];
  }
  return residual.Sample(Draw(key, Purpose::kRest, 0));
}

}  // namespace tessera
