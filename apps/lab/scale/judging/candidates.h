// Recorded samples of problems, ready for judging: each with the text, the answer, and whether the answer is right.
//
//   ASSIGN_OR_RETURN(const Recorded recorded, ReadGsm8kSolutions("evaluation_sets", Half::kTest));
//   recorded.questions[0].candidates[2].text;                  // one of four
//   ASSIGN_OR_RETURN(const Recorded own, ReadCandidates("samples.jsonl", task, Half::kAll));
//
// gsm8k_model_solutions.jsonl holds four solutions of each question, by two sizes of a model with and without a verifier (Cobbe et al.
// 2021, grade-school-math: example_model_solutions.jsonl). A file of samples has a line for each sample, in any order:
//
//   {"id": "7", "text": "She makes ...", "mean_log_probability": -0.31, "self_certainty": 14.2}
//
// `id` is the id of a problem of the task. Samples of one problem are in the order of the numbers `sample`, or without such numbers in the
// order of the lines. Each further number is a figure that a scorer may be named after (candidate_scores.h). Errors name file, line and
// field. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"

namespace tessera {

// A half of the questions. Questions are split by text, so that a choice or training on one half is measured on the other half. The lowest
// bit of the FNV-1a hash (64 bits) of the problem's statement decides, 0 for training. So a problem is in the same half in every file, with
// every model, and in scripts/train/reward.py.
enum class Half : uint8_t { kAll, kTrain, kTest };

// Returns the half named all, train or test. WrongUsage (split) for another name.
absl::StatusOr<Half> HalfOfName(const std::string& name);
bool IsIn(Half half, absl::string_view question);

struct JudgedSample {
  std::string text = {};
  std::optional<std::string> answer = {};            // The sample's answer; for code: the code.
  bool right = false;                                // The answer is the problem's; for code the checker sets `right` later.
  std::map<std::string, double> figures = {};
};

struct Question {
  std::string id = {};
  const Problem* problem = nullptr;                  // One of the task's problems; null if the samples' file was read without a task.
  std::vector<JudgedSample> candidates = {};
};

struct Recorded {
  std::vector<Question> questions = {};              // In the order of the task, or of the file; at least one candidate each.
  // For a file with verdicts: number of verdicts that agree with `right`, and number of verdicts.
  int64_t agreeing = 0, stated = 0;
};

// Reads the solutions of gsm8k_model_solutions.jsonl. task: gsm8k; must outlive the result. The questions get the task's problems and ids,
// and questions that the task lacks are left out. Null: the ids are the numbers of the lines. InvalidArgument if the half has no question.
absl::StatusOr<Recorded> ReadGsm8kSolutions(const std::string& folder, Half half, const Task* task = nullptr);

// Reads a file of samples. Problems without a sample are left out. `task` must outlive the result.
absl::StatusOr<Recorded> ReadCandidates(const std::string& path, const Task& task, Half half);

}  // namespace tessera
