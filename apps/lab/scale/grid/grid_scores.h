// Scores that a model gave a grid's samples later: tessera_scale score writes a file of scores next to the samples. AddScores adds the
// scores to the samples.
//
//   tessera_scale score --candidates=grid/gsm8k.jsonl --scorer=reward:HEAD --into=grid/gsm8k.reward.jsonl
//   RETURN_IF_ERROR(AddScores(GridScoresPath("grid", "gsm8k", "reward"), task, "reward", recorded));
//
// Threads: any.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"

namespace tessera {

// Checks that each line's settings are `settings`, a text of ScoreSettings (run_settings.h). So all scores are of this model and of the
// wanted scorer. InvalidArgument (line, found, expected) for other settings.
absl::Status CheckScoreSettings(const std::string& path, const std::string& settings);

std::string GridScoresPath(const std::string& folder, const std::string& task, const std::string& figure);

// Gives each sample the figure of the same sample in the file. InvalidArgument if a sample is missing in the file, or has another text.
// Also the errors of ReadCandidates.
absl::Status AddScores(const std::string& path, const Task& task, const std::string& figure, Recorded& recorded);

}  // namespace tessera
