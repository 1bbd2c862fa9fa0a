// A task's questions as a grid asks them, and the samples that were written of them.
//
//   ASSIGN_OR_RETURN(AskedTask asked, AskedTask::Create(engine, task, /*questions=*/40));
//   RETURN_IF_ERROR(asked.ReadSamples(path));
//   asked.TypicalQuestions(4);                 // to be timed
//   asked.MeanLengthsOf(8);                    // tokens of the longest of 8 samples, of the second longest, ...: means over questions
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/apps/lab/scale/tasks/task_prompts.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/cpp20.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct AskedTask {
  // The first questions of the task, at most so many. The errors of PromptsOfTask.
  static absl::StatusOr<AskedTask> Create(const Engine& engine, const Task& task, int questions);

  // InvalidArgument for a question that the file lacks, and for a sample without a number of tokens; the errors of ReadCandidates. It must
  // not be moved afterwards: `recorded` points at the problems.
  absl::Status ReadSamples(const std::string& path);

  // The options that all tasks have, with this one's stop, and with whether samples start a text.
  SampleOptions SamplesOf(SampleOptions options) const;
  double MeanPromptTokens() const;

  // After ReadSamples: questions at the middle of equal parts of all, by the tokens of their samples, so neither the shortest nor the
  // longest alone. As many as there are, if these are fewer.
  std::vector<SampleProblem> TypicalQuestions(int count) const;
  // MeanLengths (sample_lengths.h), the mean over questions. REQUIRES: each question has as many.
  std::vector<double> MeanLengthsOf(int count) const;

  Task task = {};            // With these problems alone.
  int64_t problems = 0;      // In the set.
  std::string set_sha256 = {};   // HashOfQuestions of all of it.
  TaskPrompts prompts = {};
  Recorded recorded = {};
  std::vector<std::vector<int64_t>> tokens = {};   // By question and sample.
};

}  // namespace tessera
