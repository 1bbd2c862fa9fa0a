#include "tessera/apps/lab/scale/judging/judge_recorded.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/scale/judging/candidate_scores.h"
#include "tessera/apps/lab/scale/sandbox/code_checker.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/scale/value/same_answer.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {
namespace {

absl::StatusOr<JudgedQuestion> Judged(const Question& question, const Task* task, const std::string& scorer, uint64_t seed) {
  JudgedQuestion judged;
  std::vector<std::optional<std::string>> answers;
  for (const JudgedSample& candidate : question.candidates) {
    answers.push_back(candidate.answer);
    judged.right.push_back(candidate.right);
  }
  const auto same_code = [](absl::string_view a, absl::string_view b) { return a == b; };
  const bool code = task != nullptr && IsCode(task->kind);
  judged.answers = code ? GroupAnswers(answers, same_code) : GroupAnswers(answers, SameAnswer);
  ASSIGN_OR_RETURN(judged.scores, ScoresOf(scorer, question, seed));
  ASSIGN_OR_RETURN(judged.weights, WeightsOf(scorer, judged.scores));
  return judged;
}

}  // namespace

absl::Status CheckCode(const Task& task, Recorded& recorded) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CodeChecker> checker, CodeChecker::Create({}));
  if (!checker->limits_reads()) WarnOnce("code: found a system without Landlock: programs can read what the user may, their tests, too");
  std::map<CodeTrial, bool> passed;
  Progress progress("questions", static_cast<int64_t>(recorded.questions.size()));
  int64_t done = 0;
  for (Question& question : recorded.questions) {
    for (JudgedSample& candidate : question.candidates) {
      const CodeTrial trial = TrialOf(task.kind, *question.problem, candidate.text);
      auto known = passed.find(trial);
      if (known == passed.end()) {
        ASSIGN_OR_RETURN(const CodeResult result, checker->Check(trial));
        known = passed.emplace(trial, result.outcome == CodeOutcome::kPassed).first;
      }
      candidate.right = known->second;
    }
    progress.Update(++done);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JudgedQuestion>> JudgedQuestions(const Recorded& recorded, const Task* task, const std::string& scorer,
                                                            uint64_t seed) {
  std::vector<JudgedQuestion> questions;
  for (const Question& question : recorded.questions) {
    ASSIGN_OR_RETURN(questions.emplace_back(), Judged(question, task, scorer, seed));
  }
  return questions;
}

const Question& WithFewestSamples(const Recorded& recorded) {
  const auto fewer = [](const Question& a, const Question& b) { return a.candidates.size() < b.candidates.size(); };
  return *std::min_element(recorded.questions.begin(), recorded.questions.end(), fewer);
}

}  // namespace tessera
