#include "tessera/runtime/scale/vote.h"

#include <algorithm>
#include <cmath>

#include <glog/logging.h>

namespace tessera {
namespace {

// Best-of-N: returns the first sample with the largest score among the samples with an answer.
int BestOf(absl::Span<const int> answers, absl::Span<const double> scores) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(answers.size()); ++i) {
    if (answers[static_cast<size_t>(i)] == kNoAnswer) continue;
    const double score = scores[static_cast<size_t>(i)];
    if (best < 0) {
      best = i;
      continue;
    }
    const double most = scores[static_cast<size_t>(best)];
    if (score > most || (std::isnan(most) && !std::isnan(score))) best = i;
  }
  return std::max(best, 0);
}

int ByVotes(absl::Span<const int> answers, absl::Span<const double> weights) {
  VoteCount count(static_cast<int>(answers.size()));
  for (size_t i = 0; i < answers.size(); ++i) count.Add(static_cast<int>(i), answers[i], weights.empty() ? 1 : weights[i]);
  return std::max(count.Leader(), 0);
}

}  // namespace

std::vector<int> GroupAnswers(absl::Span<const std::optional<std::string>> answers,
                              absl::FunctionRef<bool(absl::string_view a, absl::string_view b)> same) {
  std::vector<int> groups;
  std::vector<size_t> firsts;   // The first sample of each group.
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_value()) {
      groups.push_back(kNoAnswer);
      continue;
    }
    const auto found = std::find_if(firsts.begin(), firsts.end(), [&](size_t first) { return same(*answers[first], *answers[i]); });
    groups.push_back(static_cast<int>(found - firsts.begin()));
    if (found == firsts.end()) firsts.push_back(i);
  }
  return groups;
}

VoteCount::VoteCount(int samples) : votes_(static_cast<size_t>(std::max(samples, 0))), pending_(samples) { CHECK_GT(samples, 0); }

void VoteCount::Add(int sample, int answer, double weight) {
  CHECK(sample >= 0 && sample < static_cast<int>(votes_.size())) << sample;
  CHECK_GE(answer, kNoAnswer);
  Vote& vote = votes_[static_cast<size_t>(sample)];
  CHECK(!vote.ended) << "sample " << sample << " has ended twice";
  vote = {.ended = true, .answer = answer, .weight = weight > 0 ? weight : 0};
  --pending_;
}

double VoteCount::Sum(int answer, double pending_weight) const {
  double sum = 0;
  for (const Vote& vote : votes_) {
    if (!vote.ended) sum += pending_weight;
    if (vote.ended && vote.answer == answer) sum += vote.weight;
  }
  return sum;
}

int VoteCount::FirstOrPending(int answer) const {
  const auto found = std::find_if(votes_.begin(), votes_.end(), [&](const Vote& vote) { return !vote.ended || vote.answer == answer; });
  return static_cast<int>(found - votes_.begin());
}

int VoteCount::Leader() const {
  int leader = -1;
  double most = 0;
  // In this order, the first sample of an answer comes first.
  for (size_t i = 0; i < votes_.size(); ++i) {
    if (votes_[i].answer == kNoAnswer) continue;
    const double sum = Sum(votes_[i].answer, 0);
    if (leader >= 0 && !(sum > most)) continue;
    leader = static_cast<int>(i);
    most = sum;
  }
  return leader;
}

bool VoteCount::IsDecided(double most_weight) const {
  if (pending_ == 0) return true;
  const int leader = Leader();
  if (leader < 0) return false;
  // At worst all pending samples give one other answer the largest weight, and give the leader nothing.
  const int answer = votes_[static_cast<size_t>(leader)].answer;
  const double least = Sum(answer, 0);
  const auto wins = [&](int other) {
    const double most = Sum(other, most_weight);
    return most > least || (most == least && FirstOrPending(other) < leader);
  };
  constexpr int kNew = -2;   // An answer that no sample has given so far.
  if (wins(kNew)) return false;
  return std::none_of(votes_.begin(), votes_.end(), [&](const Vote& vote) {
    return vote.answer != kNoAnswer && vote.answer != answer && wins(vote.answer);
  });
}

absl::string_view SelectionName(Selection selection) {
  switch (selection) {
    case Selection::kMajority: return "majority";
    case Selection::kWeighted: return "weighted majority";
    case Selection::kBestOfN: return "best of N";
  }
  return "";
}

int Select(Selection selection, absl::Span<const int> answers, absl::Span<const double> scores) {
  CHECK(!answers.empty());
  if (selection == Selection::kMajority) return ByVotes(answers, {});
  CHECK_EQ(answers.size(), scores.size());
  return selection == Selection::kWeighted ? ByVotes(answers, scores) : BestOf(answers, scores);
}

}  // namespace tessera
