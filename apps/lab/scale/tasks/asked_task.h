// A task's questions in the form that a grid asks, and the recorded samples of the questions.
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
  // Takes at most the first `questions` questions of the task. Returns the errors of PromptsOfTask.
  static absl::StatusOr<AskedTask> Create(const Engine& engine, const Task& task, int questions);

  // Reads the samples. The object must not be moved afterwards: `recorded` points at the problems. InvalidArgument for a question that the
  // file lacks, and for a sample without a number of tokens. Also the errors of ReadCandidates.
  absl::Status ReadSamples(const std::string& path);

  // Returns the common options of all tasks, with this task's stop and starts_text.
  SampleOptions SamplesOf(SampleOptions options) const;
  double MeanPromptTokens() const;

  // Returns `count` questions, or all if there are fewer. Questions are ordered by the tokens of each question's samples and divided into
  // `count` equal parts. The middle question of each part is returned, so neither the shortest nor the longest alone. REQUIRES: ReadSamples
  // was OK.
  std::vector<SampleProblem> TypicalQuestions(int count) const;
  // Returns MeanLengths (sample_lengths.h), the mean over questions. REQUIRES: each question has at least `count` samples.
  std::vector<double> MeanLengthsOf(int count) const;

  Task task = {};            // With the asked problems alone.
  int64_t problems = 0;      // In the set.
  std::string set_sha256 = {};   // HashOfQuestions of the whole set.
  TaskPrompts prompts = {};
  Recorded recorded = {};
  std::vector<std::vector<int64_t>> tokens = {};   // By question and sample.
};

}  // namespace tessera
