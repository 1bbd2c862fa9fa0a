// Chooses among samples of one problem: by a vote of their answers, by their scores, or by both; and says when a vote is decided.
//
//   const std::vector<int> answers = GroupAnswers(texts, SameText);              // {0, 1, kNoAnswer, 1}: two of four say the same
//   Select(Selection::kMajority, answers, {});                                   // 1: the first sample of the most frequent answer
//   Select(Selection::kBestOfN, answers, {0.9, 0.2, 1.0, 0.3});                  // 0: sample 2 has no answer
//
//   VoteCount count(/*samples=*/8);
//   count.Add(/*sample=*/3, /*answer=*/1);                                       // in any order, as samples end
//   if (count.IsDecided()) CancelTheOthers();                                    // the answer of count.Leader() is that of all 8
//
// Paper 001, section 2.1: self-consistency (Wang et al. 2022, arXiv 2203.11171) takes the most frequent answer, weighted or not; Best-of-N
// the answer of the largest score. Ties go to the answer of the sample with the lowest number, so what is chosen does not depend on which
// sample ended first. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// The answer of a sample is a number from 0 on, the same for samples that say the same; or this.
constexpr int kNoAnswer = -1;

// A number for each sample: that of the first one that `same` takes it for, counted among those that differ. A sample without an answer has
// kNoAnswer.
std::vector<int> GroupAnswers(absl::Span<const std::optional<std::string>> answers,
                              absl::FunctionRef<bool(absl::string_view a, absl::string_view b)> same);

class VoteCount {
 public:
  // REQUIRES: samples > 0.
  explicit VoteCount(int samples);

  // The sample has ended. A weight below 0, or one that is no number, counts as 0. REQUIRES: 0 <= sample < samples, each once;
  // answer >= 0 or kNoAnswer, which has no vote.
  void Add(int sample, int answer, double weight = 1);

  int pending() const { return pending_; }
  // The first sample of the answer that leads now; -1 where no sample has an answer.
  int Leader() const;
  // Whether the leading answer stays it whatever the pending samples say, none of them with more than `most_weight`. It is exact: false
  // means that they could change it. Weights are added in the order of samples, and rounded sums never fall with a larger weight, so this
  // holds to the last bit.
  bool IsDecided(double most_weight = 1) const;

 private:
  struct Vote {
    bool ended = false;
    int answer = kNoAnswer;
    double weight = 0;
  };
  // The sum of an answer's weights, in the order of samples, if each pending sample gave it `pending_weight`.
  double Sum(int answer, double pending_weight) const;
  // The lowest sample with this answer or none so far; the number of samples where there is none.
  int FirstOrPending(int answer) const;

  std::vector<Vote> votes_;
  int pending_;
};

enum class Selection : uint8_t { kMajority, kWeighted, kBestOfN };

// "majority", "weighted majority", "best of N".
absl::string_view SelectionName(Selection selection);

// The sample that is chosen; one without an answer only where no sample has one: the first, then. kMajority reads no scores. kWeighted sums
// them as weights of votes (WeightOfLogProbability makes one of a log-probability). A score that is no number is below all others.
// REQUIRES: at least one answer; as many scores, where they are read.
int Select(Selection selection, absl::Span<const int> answers, absl::Span<const double> scores);

}  // namespace tessera
