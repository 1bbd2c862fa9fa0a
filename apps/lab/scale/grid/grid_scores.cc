#include "tessera/apps/lab/scale/grid/grid_scores.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/tasks/records.h"
#include "tessera/apps/lab/scale/tasks/sample_file.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"

namespace tessera {

std::string GridScoresPath(const std::string& folder, const std::string& task, const std::string& figure) {
  return absl::StrCat(folder, "/", task, ".", figure, ".jsonl");
}

absl::Status CheckScoreSettings(const std::string& path, const std::string& settings) {
  return ForEachRecord(path, [&](const JsonValue& record, int) { return CheckSampleSettings(record, settings); });
}

absl::Status AddScores(const std::string& path, const Task& task, const std::string& figure, Recorded& recorded) {
  ASSIGN_OR_RETURN(const Recorded scored, ReadCandidates(path, task, Half::kAll));
  for (Question& question : recorded.questions) {
    const auto same = [&](const Question& other) { return other.id == question.id; };
    const auto found = std::find_if(scored.questions.begin(), scored.questions.end(), same);
    for (size_t i = 0; i < question.candidates.size(); ++i) {   // Both are in the order of the samples' numbers.
      JudgedSample& candidate = question.candidates[i];
      const auto wrong = [&](absl::string_view what, absl::string_view expected) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": question ", question.id, ", sample ", i, ": found ", what, ", expected ",
                                                       expected));
      };
      if (found == scored.questions.end() || i >= found->candidates.size()) return wrong("no score", "one: not all samples are scored");
      if (found->candidates[i].text != candidate.text) return wrong("another text", "that of the grid's sample");
      const auto score = found->candidates[i].figures.find(figure);
      if (score == found->candidates[i].figures.end()) return wrong("no score", figure);
      candidate.figures[figure] = score->second;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
