// The folder for files that can be fetched or measured again.
//
//   ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
//   const std::string path = absl::StrCat(folder, "/model.gguf");
//
// Thread-safe as long as no thread sets the environment.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns $TESSERA_CACHE or, if that variable is absent or empty, $HOME/.cache/tessera. FailedPrecondition if both variables are absent.
absl::StatusOr<std::string> CacheFolder();

}  // namespace tessera
