#include "tessera/spec/drafters/forecast_drafter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "glog/logging.h"

namespace tessera {
namespace {

constexpr int kNoRank = std::numeric_limits<int>::max();
// kLeastWeight: least weight of each new forecast. kAssumed: at first the assumption weighs as much as kAssumed forecasts.
constexpr double kLeastWeight = 1.0 / 64;
constexpr int kAssumed = 4;
// All available forecasts are computed for the first kExplored guesses, and then for one guess of kExploreEvery.
constexpr int kExplored = 24, kExploreEvery = 16;
// After this number of passes without forecasts, forecasts are assumed to be worth a try.
constexpr int kLookAgain = 64;
constexpr double kWorthTrying = 1;
constexpr float kLeastProbability = 1e-6f;

// Returns the assumed accepted tokens before anything is known: b tokens contain the right one with probability b / (b + 1). This prefers
// 3,2 in 32 rows, the paper's own example.
double AssumedAccepted(absl::Span<const int> branches) {
  double reached = 1, accepted = 0;
  for (const int children : branches) accepted += reached *= children / (children + 1.0);
  return accepted;
}

int RankOf(const TopTokens& said, TokenId token) {
  const auto found = std::find_if(said.begin(), said.end(), [&](const TopToken& one) { return one.token == token; });
  return found == said.end() ? kNoRank : static_cast<int>(found - said.begin());
}

}  // namespace

ForecastDrafter::ForecastDrafter(std::shared_ptr<const PlacedForecasts> placed, const Options& options) : placed_(std::move(placed)) {
  CHECK_LE(options.branches.size(), static_cast<size_t>(options.forecasts));
  if (options.branches.empty()) {
    for (Branches& branches : AllBranches(options.forecasts, options.rows)) configurations_.push_back({.branches = std::move(branches)});
  } else {
    configurations_.push_back({.branches = options.branches});
  }
  CHECK(!configurations_.empty()) << "no configuration in " << options.rows << " rows";
  for (size_t i = 0; i < configurations_.size(); ++i) {
    Measured& one = configurations_[i];
    one.accepted = AssumedAccepted(one.branches);
    if (one.accepted > configurations_[used_].accepted) used_ = i;
    longest_ = std::max(longest_, one.branches.size());
    widest_ = std::max(widest_, *std::max_element(one.branches.begin(), one.branches.end()));
  }
}

bool ForecastDrafter::Explores() const { return chooses() && (guesses_ < kExplored || guesses_ % kExploreEvery == 0); }

DrafterNeeds ForecastDrafter::needs() const {
  const double accepted = configurations_[used_].accepted;
  return {.forecast_rows = static_cast<int>(Explores() ? longest_ : branches().size()),
          .top_of_forecasts = widest_,
          .forecast_tokens = without_ < kLookAgain ? accepted : std::max(accepted, kWorthTrying)};
}

void ForecastDrafter::Begin(absl::Span<const TokenId> /*text*/) {
  ahead_.clear();
  open_.clear();
}

// Adds nodes level by level. So a lack of room hits the deepest nodes, and the least likely ones of each level.
absl::Status ForecastDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  const size_t depth = std::min({branches().size(), ahead_.size(), static_cast<size_t>(std::max(budget.max_depth, 0))});
  const int most = tree.size() + budget.max_nodes;
  std::vector<int> level = {TokenTree::kRoot}, next;
  for (size_t d = 0; d < depth; ++d) {
    const TopTokens& said = ahead_[d];
    const size_t children = std::min(said.size(), static_cast<size_t>(branches()[d]));
    next.clear();
    for (const int parent : level) {
      for (size_t i = 0; i < children && tree.size() < most; ++i) {
        next.push_back(tree.Add(parent, said[i].token, std::clamp(said[i].probability, kLeastProbability, 1.0f)));
      }
    }
    level.swap(next);
  }
  return absl::OkStatus();
}

absl::Span<const TopToken> ForecastDrafter::Candidates(absl::Span<const TokenId> path) const {
  return path.size() < ahead_.size() ? absl::MakeConstSpan(ahead_[path.size()]) : absl::Span<const TopToken>();
}

void ForecastDrafter::Commit(const TokenTree& /*tree*/, const Verdict& verdict) {
  if (verdict.emitted.empty()) return;
  for (const TokenId token : verdict.emitted) Learn(token);
  ahead_ = verdict.ahead;
  without_ = ahead_.empty() ? without_ + 1 : 0;
  if (ahead_.empty()) return;
  open_.push_back({.said = ahead_});
  ++guesses_;
}

void ForecastDrafter::Learn(TokenId token) {
  for (Guess& guess : open_) {
    guess.ranks.push_back(RankOf(guess.said[guess.ranks.size()], token));
    if (guess.ranks.size() == guess.said.size()) Measure(guess);
  }
  std::erase_if(open_, [](const Guess& guess) { return guess.ranks.size() == guess.said.size(); });
}

void ForecastDrafter::Measure(const Guess& guess) {
  for (Measured& one : configurations_) {
    if (one.branches.size() > guess.ranks.size()) continue;
    ++one.count;
    const double weight = std::max(1.0 / static_cast<double>(kAssumed + one.count), kLeastWeight);
    one.accepted += weight * (AcceptedOf(one.branches, guess.ranks) - one.accepted);
  }
  for (size_t i = 0; i < configurations_.size(); ++i) {
    if (configurations_[i].accepted > configurations_[used_].accepted) used_ = i;
  }
}

int64_t ForecastDrafter::bytes() const {
  const auto of_said = [](const std::vector<TopTokens>& said) {
    size_t bytes = said.capacity() * sizeof(TopTokens);
    for (const TopTokens& tokens : said) bytes += tokens.capacity() * sizeof(TopToken);
    return static_cast<int64_t>(bytes);
  };
  int64_t bytes = static_cast<int64_t>(sizeof(*this) + configurations_.capacity() * sizeof(Measured)) + of_said(ahead_);
  for (const Guess& guess : open_) {
    bytes += static_cast<int64_t>(sizeof(Guess) + guess.ranks.capacity() * sizeof(int)) + of_said(guess.said);
  }
  return bytes;
}

// A guess is open until one token per forecast has come, and each commit brings at least one token.
int64_t ForecastDrafter::MostBytes(const Options& options) {
  const size_t forecasts = static_cast<size_t>(options.forecasts), said = sizeof(TopTokens) + kMostChildren * sizeof(TopToken);
  const size_t configurations = AllBranches(options.forecasts, options.rows).size() + 1;
  return static_cast<int64_t>(sizeof(ForecastDrafter) + 2 * configurations * sizeof(Measured) +
                              2 * (forecasts + 1) * (sizeof(Guess) + forecasts * (said + sizeof(int))));
}

}  // namespace tessera
