// Settings that identify the run that wrote a file of samples or scores. Models and scorers are identified by content, not by name alone.
//
//   ASSIGN_OR_RETURN(const ModelHash model, HashOfParts("model", path));
//   ModelSettings(model);                               // "model.gguf, sha256 9f86..."
//   ScorerSettings("reward:heads/a.safetensors");       // "reward a.safetensors, crc32c 1b2c3d4e"
//   ScoreSettings({.task = "gsm8k", .problems_sha256 = hash, .file = "samples.jsonl", .model = ModelSettings(model), .form = "chatml",
//                  .scorer = scorer, .steps = "last"});
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/tasks/model_hash.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns HashOfModel. For a model in several parts, the hash is the SHA-256 of the parts' SHA-256 sums, as text, in the order of the
// parts.
absl::StatusOr<ModelHash> HashOfParts(absl::string_view flag, const std::string& path);

std::string ModelSettings(const ModelHash& model);

// Returns the figure's name, and for a scorer with a file the file's name and checksum. WrongUsage (scorer) for a file that cannot be read;
// also the errors of ParseScorer.
absl::StatusOr<std::string> ScorerSettings(absl::string_view spec);

// The settings that `score` writes next to each score.
struct ScoreRunSettings {
  std::string task = {};
  std::string problems_sha256 = {};   // HashOfQuestions of the whole set.
  std::string file = {};              // The samples' file, without folders.
  std::string model = {};             // ModelSettings.
  std::string form = {};              // "raw", "statement" or the template's name.
  std::string scorer = {};            // ScorerSettings.
  std::string steps = {};             // Empty for a scorer without steps.
};
std::string ScoreSettings(const ScoreRunSettings& settings);

}  // namespace tessera
