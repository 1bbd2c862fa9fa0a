#include "tessera/spec/reliability.h"

#include <algorithm>
#include <cmath>

#include "glog/logging.h"

namespace tessera {

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

void Reliability::Learn(int depth, bool hit) {
  CHECK_GE(depth, 1);
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
