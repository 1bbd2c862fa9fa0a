#include "tessera/spec/policies/prune_gate.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kFirstShare = 0.5, kLeastGain = 0.01, kNewWeight = 0.125;
constexpr int kTryAgain = 64;

double Saved(const PruneGate::Question& question, double share, const CostProfile& costs) {
  CostProfile::Shape fewer = question.all;
  fewer.rows -= std::clamp(static_cast<int>(share * question.rows + 0.5), 0, question.rows - 1);
  fewer.leaves = std::min(fewer.leaves, fewer.rows);
  return question.upper_share * (costs.PassSeconds(question.all) - costs.PassSeconds(fewer));
}

}  // namespace

void PruneReport::Add(const PruneReport& more) {
  passes += more.passes;
  rows += more.rows;
  dropped += more.dropped;
  lost += more.lost;
  seconds += more.seconds;
}

bool PruneGate::IsWorth(const Question& question, const CostProfile& costs) {
  if (!costs.KnowsSteps() || question.rows <= 1) return false;
  const double least = seconds_ + kLeastGain * costs.PassSeconds(question.all);
  if (Saved(question, share_, costs) > least + lost_ * question.token_seconds) return true;
  if (Saved(question, std::max(share_, kFirstShare), costs) <= least || ++turned_down_ < kTryAgain) return false;
  turned_down_ = 0;
  return true;
}

void PruneGate::Learn(int rows, int dropped, double seconds) {
  share_ += kNewWeight * (static_cast<double>(dropped) / std::max(rows, 1) - share_);
  seconds_ += (seconds_ == 0 ? 1 : kNewWeight) * (seconds - seconds_);
  report_.passes += 1;
  report_.rows += rows;
  report_.dropped += dropped;
  report_.seconds += seconds;
}

void PruneGate::LearnLoss(bool lost) {
  lost_ += kNewWeight * ((lost ? 1 : 0) - lost_);
  report_.lost += lost ? 1 : 0;
}

}  // namespace tessera
