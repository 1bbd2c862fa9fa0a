// Chooses among samples of one problem: by a vote of answers, by scores, or by both. Also tells when a vote is decided.
//
//   const std::vector<int> answers = GroupAnswers(texts, SameText);              // {0, 1, kNoAnswer, 1}: two of four say the same
//   Select(Selection::kMajority, answers, {});                                   // 1: the first sample of the most frequent answer
//   Select(Selection::kBestOfN, answers, {0.9, 0.2, 1.0, 0.3});                  // 0: sample 2 has no answer
//
//   VoteCount count(/*samples=*/8);
//   count.Add(/*sample=*/3, /*answer=*/1);                                       // in any order, as samples end
//   if (count.IsDecided()) CancelTheOthers();                                    // the answer of count.Leader() is that of all 8
//
// The test-time scaling paper, section 2.1: self-consistency (Wang et al. 2022, arXiv 2203.11171) takes the most frequent answer, weighted
// or not. Best-of-N takes the answer with the largest score. Ties go to the answer of the sample with the lowest number, so the choice does
// not depend on the order in which samples end.
//
// Threads: thread-compatible.
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

// The group of a sample without an answer. Other groups are numbers from 0 on, equal for samples with the same answer.
constexpr int kNoAnswer = -1;

// Returns the group of each sample: the group of the first sample with the `same` answer. Groups are numbered in the order of first
// samples. A sample without an answer has kNoAnswer.
std::vector<int> GroupAnswers(absl::Span<const std::optional<std::string>> answers,
                              absl::FunctionRef<bool(absl::string_view a, absl::string_view b)> same);

// Counts the votes of samples while samples end.
class VoteCount {
 public:
  // Creates a count without votes. REQUIRES: samples > 0.
  explicit VoteCount(int samples);

  // Adds the vote of an ended sample. A weight below 0, or one that is no number, counts as 0. REQUIRES: 0 <= sample < samples, each once;
  // answer >= 0, or kNoAnswer, which has no vote.
  void Add(int sample, int answer, double weight = 1);

  int pending() const { return pending_; }
  // Returns the first sample of the leading answer; -1 if no sample has an answer.
  int Leader() const;
  // Returns whether the leading answer stays the leader for all possible votes of pending samples, with at most `most_weight` each. The
  // result is exact: false means that pending samples could change the leader. Weights are added in the order of samples, and rounded sums
  // never fall with a larger weight, so the result holds to the last bit.
  bool IsDecided(double most_weight = 1) const;

 private:
  struct Vote {
    bool ended = false;
    int answer = kNoAnswer;
    double weight = 0;
  };
  // Returns the sum of an answer's weights, in the order of samples, if each pending sample gave `pending_weight` to the answer.
  double Sum(int answer, double pending_weight) const;
  // Returns the lowest sample with this answer or without an answer so far; the number of samples if there is none.
  int FirstOrPending(int answer) const;

  std::vector<Vote> votes_;
  int pending_;
};

// The way to choose.
enum class Selection : uint8_t { kMajority, kWeighted, kBestOfN };

// Returns "majority", "weighted majority" or "best of N".
absl::string_view SelectionName(Selection selection);

// Returns the chosen sample. A sample without an answer is chosen only if no sample has an answer: then the first. kMajority uses no
// scores. kWeighted adds scores as weights of votes (WeightOfLogProbability turns a log-probability into a weight). A score that is no
// number is below all other scores. REQUIRES: at least one answer; the same number of scores, where scores are used.
int Select(Selection selection, absl::Span<const int> answers, absl::Span<const double> scores);

}  // namespace tessera
