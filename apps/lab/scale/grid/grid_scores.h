// Scores that a model gave a grid's samples later: tessera_scale score writes them beside the samples, and they are put to them here.
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

// InvalidArgument (line, found, expected) unless each line's settings are these, those of ScoreSettings
// (run_settings.h). So scores are of this model, and of the scorer that is asked for.
absl::Status CheckScoreSettings(const std::string& path, const std::string& settings);

std::string GridScoresPath(const std::string& folder, const std::string& task, const std::string& figure);

// Gives each sample the figure that the same sample has in the file. InvalidArgument where one is missing there, or has another text; the
// errors of ReadCandidates.
absl::Status AddScores(const std::string& path, const Task& task, const std::string& figure, Recorded& recorded);

}  // namespace tessera
