#include "tessera/model/text/sampler.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/base/candidates.h"
#include "tessera/base/elementary.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// ---- Logits, with the penalized ones replaced ----

// The distinct tokens among the last penalty_window emitted with their new logits, in ascending order of id.
absl::StatusOr<std::vector<Candidate>> Penalized(absl::Span<const float> logits, absl::Span<const TokenId> emitted,
                                                 const SamplingOptions& options) {
  std::vector<Candidate> penalized;
  if (options.repetition_penalty == 1) return penalized;
  const size_t window = std::min<size_t>(options.penalty_window, emitted.size());
  for (size_t i = emitted.size() - window; i < emitted.size(); ++i) {
    const TokenId id = emitted[i];
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("emitted[", i, "]: found token ", id, ", expected 0 <= token < ", logits.size()));
    }
    const float logit = logits[id], penalty = options.repetition_penalty;
    penalized.push_back({logit > 0 ? logit / penalty : logit * penalty, id});
  }
  std::sort(penalized.begin(), penalized.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  const auto same = [](const Candidate& a, const Candidate& b) { return a.id == b.id; };
  penalized.erase(std::unique(penalized.begin(), penalized.end(), same), penalized.end());
  return penalized;
}

// Calls visit(first_id, chunk) for consecutive chunks of the logits. A chunk with penalized tokens is a changed copy; nearly all chunks
// have none and are read where they lie.
template <typename Visit>
void ForEachChunk(absl::Span<const float> logits, absl::Span<const Candidate> penalized, Visit visit) {
  constexpr size_t kChunk = 256;
  float copy[kChunk];
  for (size_t begin = 0; begin < logits.size(); begin += kChunk) {
    absl::Span<const float> chunk = logits.subspan(begin, kChunk);  // The last one is shorter.
    const size_t end = begin + chunk.size();
    if (!penalized.empty() && static_cast<size_t>(penalized.front().id) < end) {
      std::copy(chunk.begin(), chunk.end(), copy);
      for (; !penalized.empty() && static_cast<size_t>(penalized.front().id) < end; penalized.remove_prefix(1)) {
        copy[penalized.front().id - begin] = penalized.front().logit;
      }
      chunk = absl::MakeConstSpan(copy, chunk.size());
    }
    visit(static_cast<TokenId>(begin), chunk);
  }
}

absl::Status NoNumbers(size_t size) {
  return absl::DataLossError(
      absl::StrCat("logits are not numbers: found ", size, " that are NaN or -infinity, expected at least one that is not"));
}

// ---- Choosing candidates ----

absl::StatusOr<TokenId> Greedy(absl::Span<const float> logits, absl::Span<const Candidate> penalized) {
  Candidate best = {kMinusInfinity, -1};
  ForEachChunk(logits, penalized, [&best](TokenId first, absl::Span<const float> chunk) {
    const float largest = LargestOf(chunk);
    if (!(largest > best.logit)) return;  // An equal logit has a higher id here.
    best = {largest, first + static_cast<TokenId>(std::find(chunk.begin(), chunk.end(), largest) - chunk.begin())};
  });
  if (best.id < 0) return NoNumbers(logits.size());
  return best.id;
}

// Returns the `count` first in rank, in order.
std::vector<Candidate> TopOf(absl::Span<const float> logits, absl::Span<const Candidate> penalized, size_t count) {
  TopCandidates top(count);
  ForEachChunk(logits, penalized, [&top](TokenId first, absl::Span<const float> chunk) { top.Add(first, chunk); });
  return top.Take();
}

// Returns every token that may be chosen, by ascending id.
std::vector<Candidate> AllOf(absl::Span<const float> logits, absl::Span<const Candidate> penalized) {
  std::vector<Candidate> all;
  all.reserve(logits.size());
  ForEachChunk(logits, penalized, [&all](TokenId first, absl::Span<const float> chunk) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i] > kMinusInfinity) all.push_back({chunk[i], first + static_cast<TokenId>(i)});
    }
  });
  return all;
}

// Returns exp((logit - largest) / temperature): a probability times a common factor. A logit equal to the largest has weight 1, even if
// infinite.
double Weight(float logit, float largest, float temperature) {
  if (logit == largest) return 1;
  return elementary::Exp((static_cast<double>(logit) - largest) / temperature);
}

// Candidates in rank order, sorted only as far as needed: a draw from a whole vocabulary seldom goes far.
class Ranking {
 public:
  Ranking(std::vector<Candidate> candidates, size_t sorted) : candidates_(std::move(candidates)), sorted_(sorted) {}

  size_t size() const { return candidates_.size(); }
  const Candidate& operator[](size_t rank) {  // REQUIRES: rank < size().
    while (rank >= sorted_) SortFurther();
    return candidates_[rank];
  }
  absl::Span<const Candidate> First(size_t count) const {  // REQUIRES: rank count - 1 was asked for before.
    return absl::MakeConstSpan(candidates_).first(count);
  }

 private:
  void SortFurther() {
    const size_t more = std::min(candidates_.size() - sorted_, std::max<size_t>(256, 3 * sorted_));
    const auto begin = candidates_.begin() + sorted_, middle = begin + more;
    if (middle != candidates_.end()) std::nth_element(begin, middle, candidates_.end(), RanksBefore);
    std::sort(begin, middle, RanksBefore);
    sorted_ += more;
  }

  std::vector<Candidate> candidates_;
  size_t sorted_;
};

// Returns the sum of weights in the order of the candidates.
double TotalWeight(absl::Span<const Candidate> candidates, float largest, float temperature) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += Weight(candidate.logit, largest, temperature);
  return total;
}

// Returns the number of candidates that top_p and min_p keep. Both cut the tail of the ranking, so the shorter head stays.
size_t CountKept(Ranking& ranking, double total, const SamplingOptions& options) {
  const float largest = ranking[0].logit;
  double sum = 0;
  size_t kept = 0;
  while (kept < ranking.size()) {
    const double weight = Weight(ranking[kept].logit, largest, 1);
    if (weight < options.min_p) break;
    ++kept;
    sum += weight;
    if (options.top_p < 1 && sum >= options.top_p * total) break;
  }
  return kept;
}

// Returns the first candidate in rank at which the running sum of weights passes `uniform` of the total.
TokenId Draw(Ranking& ranking, size_t kept, double total, float temperature, double uniform) {
  const float largest = ranking[0].logit;
  const double target = uniform * total;
  double sum = 0;
  TokenId last = ranking[0].id;
  for (size_t rank = 0; rank < kept; ++rank) {
    const double weight = Weight(ranking[rank].logit, largest, temperature);
    if (weight == 0) break;
    last = ranking[rank].id;
    sum += weight;
    if (sum > target) break;
  }
  return last;  // If rounding left the sum short of the target, the last possible candidate.
}

// The candidates of a draw.
struct Kept {
  Ranking ranking;
  size_t count;    // The first candidates of the ranking.
  double total;    // The sum of the kept candidates' weights.
};

absl::StatusOr<Kept> Filter(absl::Span<const float> logits, absl::Span<const Candidate> penalized, const SamplingOptions& options) {
  const size_t top_k = options.top_k;
  const bool all = top_k == 0 || top_k >= logits.size();
  std::vector<Candidate> candidates = all ? AllOf(logits, penalized) : TopOf(logits, penalized, top_k);
  if (candidates.empty()) return NoNumbers(logits.size());
  const float largest = std::min_element(candidates.begin(), candidates.end(), RanksBefore)->logit;

  // Totals are summed before more is sorted: in the order of ids, or of ranks if top_k cut.
  const bool filtered = options.top_p < 1 || options.min_p > 0;
  double total = 0;
  if (options.top_p < 1) total = TotalWeight(candidates, largest, 1);
  if (!filtered) total = TotalWeight(candidates, largest, options.temperature);
  const size_t sorted = all ? 0 : candidates.size();
  Kept kept = {Ranking(std::move(candidates), sorted), 0, total};
  kept.count = kept.ranking.size();
  if (!filtered) return kept;
  kept.count = CountKept(kept.ranking, total, options);
  kept.total = TotalWeight(kept.ranking.First(kept.count), largest, options.temperature);
  return kept;
}

}  // namespace

absl::StatusOr<Sampler> Sampler::Create(const SamplingOptions& options) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (!(options.temperature >= 0 && options.temperature <= kLargest)) {
    return WrongUsage("temperature", options.temperature, "0 <= temperature < infinity");
  }
  if (options.top_k < 0) return WrongUsage("top_k", options.top_k, "top_k >= 0 (0 is off)");
  if (!(options.top_p > 0 && options.top_p <= 1)) return WrongUsage("top_p", options.top_p, "0 < top_p <= 1");
  if (!(options.min_p >= 0 && options.min_p <= 1)) return WrongUsage("min_p", options.min_p, "0 <= min_p <= 1");
  if (!(options.repetition_penalty > 0 && options.repetition_penalty <= kLargest)) {
    return WrongUsage("repetition_penalty", options.repetition_penalty, "0 < repetition_penalty < infinity");
  }
  if (options.penalty_window < 0) return WrongUsage("penalty_window", options.penalty_window, "penalty_window >= 0 (0 is off)");
  return Sampler(options);
}

absl::StatusOr<TokenId> Sampler::Choose(absl::Span<const float> logits, absl::Span<const TokenId> emitted, uint64_t stream,
                                        uint64_t index) const {
  ASSIGN_OR_RETURN(const std::vector<Candidate> penalized, Penalized(logits, emitted, options_));
  if (options_.temperature == 0) return Greedy(logits, penalized);
  ASSIGN_OR_RETURN(Kept kept, Filter(logits, penalized, options_));
  return Draw(kept.ranking, kept.count, kept.total, options_.temperature, CounterUniform(options_.seed, stream, index));
}

absl::Status Sampler::Distribution(absl::Span<const float> logits, absl::Span<const TokenId> emitted,
                                   absl::Span<float> distribution) const {
  CHECK_EQ(distribution.size(), logits.size());
  std::fill(distribution.begin(), distribution.end(), 0.0f);
  ASSIGN_OR_RETURN(const std::vector<Candidate> penalized, Penalized(logits, emitted, options_));
  if (options_.temperature == 0) {
    ASSIGN_OR_RETURN(const TokenId token, Greedy(logits, penalized));
    distribution[token] = 1;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Kept kept, Filter(logits, penalized, options_));
  const float largest = kept.ranking[0].logit;
  for (size_t rank = 0; rank < kept.count; ++rank) {
    const Candidate& candidate = kept.ranking[rank];
    distribution[candidate.id] = static_cast<float>(Weight(candidate.logit, largest, options_.temperature) / kept.total);
  }
  return absl::OkStatus();
}

}  // namespace tessera
