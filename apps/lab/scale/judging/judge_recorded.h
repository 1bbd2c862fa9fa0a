// Converts recorded samples to the input of JudgeSelections: equal answers, right answers, and a scorer's score of each.
//
//   if (IsCode(task.kind)) RETURN_IF_ERROR(CheckCode(task, recorded));
//   ASSIGN_OR_RETURN(const std::vector<JudgedQuestion> questions, JudgedQuestions(recorded, &task, "mean_log_probability", seed));
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/judging/judge.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"

namespace tessera {

// Runs each program with the problem's tests, in a sandbox (code_checker.h), and sets `right` of each candidate. Equal programs of a
// problem run once. Progress goes to standard error. Returns the errors of CodeChecker. REQUIRES: IsCode(task.kind).
absl::Status CheckCode(const Task& task, Recorded& recorded);

// Returns the questions for JudgeSelections. task: null if the samples' file has the questions itself; the answers are then no code.
// Returns the errors of ScoresOf and WeightsOf.
absl::StatusOr<std::vector<JudgedQuestion>> JudgedQuestions(const Recorded& recorded, const Task* task, const std::string& scorer,
                                                            uint64_t seed);

// Returns the question with the fewest samples. REQUIRES: there is a question.
const Question& WithFewestSamples(const Recorded& recorded);

}  // namespace tessera
