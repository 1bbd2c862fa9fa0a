// The names of the models that scripts/fetch_model.sh fetches: --model=qwen2.5-coder-0.5b.
//
//   ASSIGN_OR_RETURN(const std::string path, PathOfModel("model", FLAGS_model));    // "model.gguf", or ~/.cache/tessera/SmolLM2-...gguf
//
// Every flag that names a model file goes through PathOfModel. Thread-safe as long as nobody sets the environment.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

struct NamedModel {
  const char* name;   // "smollm2"
  const char* file;   // The model's file in CacheFolder().
};

// Returns the models of scripts/fetch_model.sh; the first one is the default model.
const std::vector<NamedModel>& NamedModels();

// Returns the path of the model that `text` names: `text` itself if a file is there, else the fetched model of this name. A text with a
// slash, or with the ending of a model's file (.gguf, .tsr, .safetensors), is always a path. A wrong path is reported when the file is
// opened. WrongUsage of `flag` for any other text: the error lists the fetched models that are there, and tells how to get others. An empty
// text is the default model.
absl::StatusOr<std::string> PathOfModel(absl::string_view flag, const std::string& text);

}  // namespace tessera
