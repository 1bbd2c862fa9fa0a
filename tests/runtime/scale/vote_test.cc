#include "tessera/runtime/scale/vote.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace tessera {
namespace {

using Answers = std::vector<std::optional<std::string>>;

bool SameText(absl::string_view a, absl::string_view b) { return a == b; }

TEST(Vote, HeaderExample) {
  const Answers texts = {"12", "7", std::nullopt, "7"};
  const std::vector<int> answers = GroupAnswers(texts, SameText);
  EXPECT_EQ(answers, (std::vector<int>{0, 1, kNoAnswer, 1}));
  EXPECT_EQ(Select(Selection::kMajority, answers, {}), 1);
  EXPECT_EQ(Select(Selection::kBestOfN, answers, {0.9, 0.2, 1.0, 0.3}), 0);

  VoteCount count(/*samples=*/8);
  count.Add(/*sample=*/3, /*answer=*/1);
  EXPECT_FALSE(count.IsDecided());
  EXPECT_EQ(count.Leader(), 3);
}

TEST(Vote, AnswersOfOneGroupAreEqual) {
  const auto same_first = [](absl::string_view a, absl::string_view b) { return a[0] == b[0]; };
  EXPECT_EQ(GroupAnswers(Answers{"ab", "b", "a", std::nullopt, "bb", "c"}, same_first), (std::vector<int>{0, 1, 0, kNoAnswer, 1, 2}));
  EXPECT_EQ(GroupAnswers({}, SameText), std::vector<int>());
}

TEST(Vote, TiesGoToTheLowestSampleWhateverTheOrder) {
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}}) {
    const std::vector<int> answers = {5, 2, 2, 5};
    VoteCount count(4);
    for (const int sample : order) count.Add(sample, answers[static_cast<size_t>(sample)]);
    EXPECT_EQ(count.Leader(), 0);
    EXPECT_EQ(count.pending(), 0);
  }
}

TEST(Vote, WeightsOfOneAnswerAddUp) {
  EXPECT_EQ(Select(Selection::kWeighted, {0, 1, 1, 1}, {0.9, 0.2, 0.2, 0.2}), 0);
  EXPECT_EQ(Select(Selection::kWeighted, {0, 1, 1, 1}, {0.5, 0.2, 0.2, 0.2}), 1);
  EXPECT_EQ(Select(Selection::kMajority, {0, 1, 1, 1}, {}), 1);
}

TEST(Vote, ASampleWithoutAnAnswerIsChosenOnlyIfAllAre) {
  EXPECT_EQ(Select(Selection::kBestOfN, {kNoAnswer, 0}, {9, -3}), 1);
  EXPECT_EQ(Select(Selection::kMajority, {kNoAnswer, kNoAnswer, 4}, {}), 2);
  for (const Selection selection : {Selection::kMajority, Selection::kWeighted, Selection::kBestOfN}) {
    EXPECT_EQ(Select(selection, {kNoAnswer, kNoAnswer}, {1, 2}), 0) << SelectionName(selection);
  }
}

TEST(Vote, AScoreThatIsNoNumberIsBelowAllOthers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Select(Selection::kBestOfN, {0, 1, 2}, {nan, -5, nan}), 1);
  EXPECT_EQ(Select(Selection::kBestOfN, {0, 1}, {nan, nan}), 0);
  EXPECT_EQ(Select(Selection::kWeighted, {0, 1, 0}, {nan, 0.1, -7}), 1);
}

struct Ending {
  int answer = 0;
  double weight = 1;
};

// The rule against all that could still come: each of `samples` has ended in one of `endings` or is pending, and then ends in one of
// `completions`.
class AllVotes {
 public:
  AllVotes(int samples, double most_weight, std::vector<Ending> endings, std::vector<Ending> completions)
      : most_weight_(most_weight), endings_(std::move(endings)), completions_(std::move(completions)), votes_(samples) {}

  void Check() { CheckFrom(0); }
  int checked() const { return checked_; }
  int decided_early() const { return decided_early_; }

 private:
  void CheckFrom(size_t sample) {
    if (sample == votes_.size()) return CheckOne();
    votes_[sample].reset();
    CheckFrom(sample + 1);
    for (const Ending& ending : endings_) {
      votes_[sample] = ending;
      CheckFrom(sample + 1);
    }
    votes_[sample].reset();
  }

  VoteCount CountOf(const std::vector<std::optional<Ending>>& votes) const {
    VoteCount count(static_cast<int>(votes.size()));
    for (size_t i = 0; i < votes.size(); ++i) {
      if (votes[i].has_value()) count.Add(static_cast<int>(i), votes[i]->answer, votes[i]->weight);
    }
    return count;
  }

  static int AnswerOf(const VoteCount& count, const std::vector<std::optional<Ending>>& votes) {
    return count.Leader() < 0 ? kNoAnswer : votes[static_cast<size_t>(count.Leader())]->answer;
  }

  // Whether all completions from `sample` on lead to `answer`.
  bool AllGive(int answer, size_t sample, std::vector<std::optional<Ending>>& votes) const {
    while (sample < votes.size() && votes[sample].has_value()) ++sample;
    if (sample == votes.size()) return AnswerOf(CountOf(votes), votes) == answer;
    for (const Ending& completion : completions_) {
      votes[sample] = completion;
      const bool same = AllGive(answer, sample + 1, votes);
      votes[sample].reset();
      if (!same) return false;
    }
    return true;
  }

  void CheckOne() {
    const VoteCount count = CountOf(votes_);
    std::vector<std::optional<Ending>> votes = votes_;
    const bool expected = AllGive(AnswerOf(count, votes_), 0, votes);
    ASSERT_EQ(count.IsDecided(most_weight_), expected) << absl::StrJoin(votes_, " ", [](std::string* out, const auto& vote) {
      if (vote.has_value()) absl::StrAppend(out, vote->answer, ":", vote->weight);
      else absl::StrAppend(out, "?");
    });
    ++checked_;
    decided_early_ += expected && count.pending() > 0;
  }

  const double most_weight_;
  const std::vector<Ending> endings_, completions_;
  std::vector<std::optional<Ending>> votes_;
  int checked_ = 0, decided_early_ = 0;
};

TEST(Vote, IsDecidedExactlyWhereNoFurtherVoteChangesTheChoice) {
  const std::vector<Ending> endings = {{kNoAnswer}, {0}, {1}, {2}};
  std::vector<Ending> completions = endings;
  completions.push_back({7});   // An answer that is new.
  for (int samples = 1; samples <= 5; ++samples) {
    AllVotes all(samples, 1, endings, completions);
    all.Check();
    EXPECT_EQ(all.checked(), std::pow(5, samples));
    EXPECT_EQ(all.decided_early() > 0, samples > 1);
  }
}

TEST(Vote, IsDecidedExactlyWithWeights) {
  const std::vector<Ending> endings = {{kNoAnswer}, {0, 0}, {0, 0.1}, {0, 0.3}, {0, 1}, {1, 0.1}, {1, 0.7}};
  std::vector<Ending> completions = endings;
  for (const double weight : {0.0, 0.1, 1.0}) completions.push_back({1, weight}), completions.push_back({7, weight});
  AllVotes all(4, 1, endings, completions);
  all.Check();
  EXPECT_GT(all.decided_early(), 0);
}

// 0.1 + 0.2 + 0.3 is above 0.3 + 0.2 + 0.1 in doubles, so sums in the order in which samples end would make the order count.
TEST(Vote, SumsDoNotDependOnTheOrderOfEnding) {
  const std::vector<int> answers = {0, 0, 0, 1};
  const std::vector<double> weights = {0.1, 0.2, 0.3, 0.1 + 0.2 + 0.3};
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 1, 0, 3}}) {
    VoteCount count(4);
    for (const int i : order) count.Add(i, answers[static_cast<size_t>(i)], weights[static_cast<size_t>(i)]);
    EXPECT_EQ(count.Leader(), 0);
  }
}

}  // namespace
}  // namespace tessera
