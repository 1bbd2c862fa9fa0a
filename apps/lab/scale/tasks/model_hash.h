// Which model a recording is of: its file's name and content, whatever folder it lies in.
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

// WrongUsage of the flag (found, expected) for a model that is in several parts; the errors of ModelFile::Open as ForFile has them, and
// those of Sha256OfFile.
absl::StatusOr<ModelHash> HashOfModel(absl::string_view flag, const std::string& path);

}  // namespace tessera
