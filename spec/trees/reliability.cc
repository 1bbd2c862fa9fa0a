#include "tessera/spec/trees/reliability.h"

#include <algorithm>
#include <cmath>

#include "glog/logging.h"

namespace tessera {
namespace {

constexpr double kTrust = 2;        // Guesses, expected and come true, that stand for f = 1 before any was seen.
constexpr double kForgets = 0.98;   // Weight of older guesses relative to a new one.

}  // namespace

Reliability::Reliability(const Options& options) : options_(options) {
  CHECK(options.new_weight > 0 && options.new_weight <= 1) << "new_weight " << options.new_weight;
  CHECK(options.least > 0 && options.least <= 1) << "least " << options.least;
}

double Reliability::rho(int depth) const {
  CHECK_GE(depth, 1);
  const Share& share = of_depth_[std::min(depth, kDepths) - 1];
  return share.known ? share.value : of_all_.value;
}

void Reliability::Add(bool hit, Share& share) const {
  share.value = std::max(options_.least, share.value + options_.new_weight * ((hit ? 1 : 0) - share.value));
  share.known = true;
}

Reliability::Guesses& Reliability::GuessesOf(size_t rank, float probability) {
  const int bin = std::clamp(static_cast<int>(probability * kBins), 0, kBins - 1);
  return guesses_[std::min<size_t>(rank, kRanks - 1)][static_cast<size_t>(bin)];
}

absl::InlinedVector<float, 8> Reliability::Chances(const TopTokens& said, int depth) const {
  const double rho = this->rho(depth);
  absl::InlinedVector<float, 8> chances;
  double most = 1, left = 1;
  for (size_t rank = 0; rank < said.size(); ++rank) {
    const Guesses& guesses = GuessesOf(rank, said[rank].probability);
    const double f = (guesses.came + kTrust) / (guesses.expected + kTrust);
    const double chance = std::min({std::max(rho * f, options_.least) * said[rank].probability, most, left});
    chances.push_back(static_cast<float>(chance));
    most = chance;
    left -= chance;
  }
  return chances;
}

void Reliability::Learn(int depth, const TopTokens& said, int rank) {
  CHECK_GE(depth, 1);
  const double rho = this->rho(depth);
  for (size_t i = 0; i < said.size(); ++i) {
    Guesses& guesses = GuessesOf(i, said[i].probability);
    guesses.expected = kForgets * guesses.expected + rho * said[i].probability;
    guesses.came = kForgets * guesses.came + (static_cast<int>(i) == rank ? 1 : 0);
  }
  const bool hit = rank != TokenTree::kNone;
  Share& share = of_depth_[std::min(depth, kDepths) - 1];
  if (!share.known) share.value = of_all_.value;
  Add(hit, share);
  Add(hit, of_all_);
}

void ReliabilityTable::Add(double expected, bool accepted) {
  CHECK(expected >= 0 && expected <= 1) << "expected " << expected;
  Bin& bin = bins_[std::min(static_cast<int>(expected * kBins), kBins - 1)];
  bin.count += 1;
  bin.accepted += accepted ? 1 : 0;
  bin.sum += expected;
}

ReliabilityTable& ReliabilityTable::operator+=(const ReliabilityTable& other) {
  for (size_t i = 0; i < bins_.size(); ++i) {
    bins_[i].count += other.bins_[i].count;
    bins_[i].accepted += other.bins_[i].accepted;
    bins_[i].sum += other.bins_[i].sum;
  }
  return *this;
}

int64_t ReliabilityTable::count() const {
  int64_t count = 0;
  for (const Bin& bin : bins_) count += bin.count;
  return count;
}

double ReliabilityTable::Error() const {
  const int64_t all = count();
  double sum = 0;
  for (const Bin& bin : bins_) sum += static_cast<double>(bin.count) * std::abs(bin.expected() - bin.observed());
  return all == 0 ? 0 : sum / static_cast<double>(all);
}

}  // namespace tessera
