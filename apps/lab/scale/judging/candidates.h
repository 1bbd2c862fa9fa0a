// Recorded samples of problems, as they are judged: each with its text, what it answers, and whether that is right.
//
//   ASSIGN_OR_RETURN(const Recorded recorded, ReadGsm8kSolutions("evaluation_sets", Half::kTest));
//   recorded.questions[0].candidates[2].text;                  // one of four
//   ASSIGN_OR_RETURN(const Recorded own, ReadCandidates("samples.jsonl", task, Half::kAll));
//
// gsm8k_model_solutions.jsonl holds four solutions of each question, by two sizes of a model with and without a verifier (Cobbe et al.
// 2021, grade-school-math: example_model_solutions.jsonl). A file of samples has a line for each, in any order:
//
//   {"id": "7", "text": "She makes ...", "mean_log_probability": -0.31, "self_certainty": 14.2}
//
// `id` is a problem's of the task; samples of one problem are in the order of their numbers `sample`, or without them in that of their
// lines. Each further number is a figure that a scorer may be named after (candidate_scores.h). Errors name file, line and field.
// Threads: any.
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

// Questions are split by their text, so that what is trained or chosen on one half is measured on the other: the half is that of the lowest
// bit of the FNV-1a hash (64 bits) of the problem's statement, 0 for training. So a problem is of the same half in every file, whoever
// answers it, and in scripts/train/reward.py.
enum class Half : uint8_t { kAll, kTrain, kTest };

// WrongUsage (split) unless it is all, train or test.
absl::StatusOr<Half> HalfOfName(const std::string& name);
bool IsIn(Half half, absl::string_view question);

struct JudgedSample {
  std::string text = {};
  std::optional<std::string> answer = {};            // What it answers; code: the code.
  bool right = false;                                // Its answer is that of the problem; for code the checker sets it later.
  std::map<std::string, double> figures = {};
};

struct Question {
  std::string id = {};
  const Problem* problem = nullptr;                  // One of the task's; null where the samples' file was read without a task.
  std::vector<JudgedSample> candidates = {};
};

struct Recorded {
  std::vector<Question> questions = {};              // In the order of the task, or of the file; at least one candidate each.
  // Where the file says itself which are right: how many verdicts agree with ours, of how many.
  int64_t agreeing = 0, stated = 0;
};

// InvalidArgument where the half has no question. task: gsm8k, whose problems and their ids the questions then have; those that it has not
// are left out. It must outlive the result. Null: questions have the numbers of their lines.
absl::StatusOr<Recorded> ReadGsm8kSolutions(const std::string& folder, Half half, const Task* task = nullptr);

// Problems without a sample are left out. `task` must outlive the result.
absl::StatusOr<Recorded> ReadCandidates(const std::string& path, const Task& task, Half half);

}  // namespace tessera
