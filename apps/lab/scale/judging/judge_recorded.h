// From recorded samples to what JudgeSelections takes: which answers are the same, which are right, and what a scorer says of each.
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

// Runs each program with its problem's tests, in a sandbox (code_checker.h), and says of each candidate whether it passed. Programs that
// are the same run once. Progress goes to standard error. The errors of CodeChecker. REQUIRES: IsCode(task.kind).
absl::Status CheckCode(const Task& task, Recorded& recorded);

// The errors of ScoresOf and WeightsOf. task: null where the samples' file has the questions, whose answers are no code.
absl::StatusOr<std::vector<JudgedQuestion>> JudgedQuestions(const Recorded& recorded, const Task* task, const std::string& scorer,
                                                            uint64_t seed);

// The question with the fewest samples. REQUIRES: there is one.
const Question& WithFewestSamples(const Recorded& recorded);

}  // namespace tessera
