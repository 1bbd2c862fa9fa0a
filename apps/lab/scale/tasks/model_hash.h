// Identifies the model of a recording by the file's name and content, in any folder.
//
//   ASSIGN_OR_RETURN(const ModelHash model, HashOfModel("draft_model", FLAGS_draft_model));
//   recording.draft = model.name;                  // "SmolLM2-135M-Instruct.Q4_1.gguf"
//   recording.draft_sha256 = model.sha256;
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct ModelHash { std::string name = {}, sha256 = {}; };

// Returns the name and the SHA-256 of a model's file. WrongUsage of the flag (found, expected) for a model in several parts. Also the
// errors of ModelFile::Open, converted by ForFile, and of Sha256OfFile.
absl::StatusOr<ModelHash> HashOfModel(absl::string_view flag, const std::string& path);

}  // namespace tessera
