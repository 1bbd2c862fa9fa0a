#include "tessera/spec/costs/pause_rule.h"

#include <algorithm>

#include "glog/logging.h"

namespace tessera {
namespace {

// A drafter that is right once in ten steps is worth its time. Such a drafter has eight wrong steps in a row in two trials of five. Shorter
// trials cost less, but kept such a drafter paused for most of a text.
constexpr double kFading = 0.97;                       // With each step: about thirty count.
constexpr double kEnough = 16;                         // Steps that are judged by their mean.
constexpr int kTrialSteps = 8;
constexpr double kTrial = 7;                           // Them, faded.
constexpr double kMostMeanLoss = 0.01, kMostLoss = 3;
constexpr double kTrialShare = 0.01;                   // The share of the time that trials may take.
constexpr int kFirstPause = 4, kLongestDoubled = 256, kLongestPause = 1 << 14;

}  // namespace

void PauseRule::Add(const Step& step) {
  CHECK(active());
  gain_ = gain_ * kFading + step.gain;
  steps_ = steps_ * kFading + 1;
  const bool judged = steps_ >= (trial_ ? kTrial : kEnough);
  if (gain_ < -kMostLoss || (judged && gain_ < -kMostMeanLoss * steps_)) {
    Pause(step);
  } else if (judged) {
    trial_ = false;
    if (gain_ > 0) length_ = 0;
  }
}

void PauseRule::Pause(const Step& last) {
  loss_ = -gain_ / steps_;
  length_ = length_ == 0 ? kFirstPause : std::min(2 * length_, kLongestDoubled);
  const double trial = std::min(kTrialSteps * last.fixed_cost, kMostLoss + last.fixed_cost);
  left_ = std::max(length_, static_cast<int>(std::min<double>(kLongestPause, trial / kTrialShare)));
  gain_ = steps_ = 0;
  trial_ = true;
  ++pauses_;
}

void PauseRule::Skip() {
  CHECK(!active());
  --left_;
  ++skipped_;
}

}  // namespace tessera
