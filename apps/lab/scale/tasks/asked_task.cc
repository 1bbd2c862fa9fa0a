#include "tessera/apps/lab/scale/tasks/asked_task.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/tasks/sample_lengths.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<AskedTask> AskedTask::Create(const Engine& engine, const Task& task, int questions) {
  AskedTask asked = {.task = task, .problems = static_cast<int64_t>(task.problems.size())};
  asked.set_sha256 = HashOfQuestions(task, asked.problems);
  asked.task.problems.resize(std::min(task.problems.size(), static_cast<size_t>(questions)));
  ASSIGN_OR_RETURN(asked.prompts, PromptsOfTask(engine, asked.task, questions));
  return asked;
}

absl::Status AskedTask::ReadSamples(const std::string& path) {
  constexpr double kMost = 1 << 24;
  ASSIGN_OR_RETURN(recorded, ReadCandidates(path, task, Half::kAll));
  if (recorded.questions.size() != task.problems.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": found samples of ", recorded.questions.size(), " questions, expected ",
                                                   task.problems.size(), ", each with an id of its own"));
  }
  tokens.clear();
  for (const Question& question : recorded.questions) {
    std::vector<int64_t>& of_question = tokens.emplace_back();
    for (const JudgedSample& candidate : question.candidates) {
      const auto found = candidate.figures.find("tokens");
      if (found == candidate.figures.end() || !(found->second >= 0 && found->second <= kMost)) {
        const std::string number = found == candidate.figures.end() ? "no number" : absl::StrFormat("%.17g", found->second);
        return absl::InvalidArgumentError(absl::StrFormat("%s: question %s: tokens: found %s, expected a number from 0 to %.0f", path,
                                                          question.id, number, kMost));
      }
      of_question.push_back(static_cast<int64_t>(found->second));
    }
  }
  return absl::OkStatus();
}

SampleOptions AskedTask::SamplesOf(SampleOptions options) const {
  options.stop = task.stop;
  options.starts_text = prompts.form != "raw";
  return options;
}

double AskedTask::MeanPromptTokens() const {
  double sum = 0;
  for (const SampleProblem& problem : prompts.problems) sum += static_cast<double>(problem.prompt.size());
  return sum / static_cast<double>(prompts.problems.size());
}

std::vector<SampleProblem> AskedTask::TypicalQuestions(int count) const {
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < tokens.size(); ++i) order.emplace_back(std::accumulate(tokens[i].begin(), tokens[i].end(), int64_t{0}), i);
  std::sort(order.begin(), order.end());
  const size_t parts = std::min(order.size(), static_cast<size_t>(count));
  std::vector<SampleProblem> questions;
  for (size_t part = 0; part < parts; ++part) {
    questions.push_back(prompts.problems[order[(2 * part + 1) * order.size() / (2 * parts)].second]);
  }
  return questions;
}

std::vector<double> AskedTask::MeanLengthsOf(int count) const {
  std::vector<double> lengths(static_cast<size_t>(count));
  for (const std::vector<int64_t>& of_question : tokens) {
    const std::vector<double> means = MeanLengths(of_question, count);
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] += means[i] / static_cast<double>(tokens.size());
  }
  return lengths;
}

}  // namespace tessera
