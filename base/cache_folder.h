// Where files are kept that can be fetched or measured again.
//
//   ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
//   const std::string path = absl::StrCat(folder, "/model.gguf");
//
// Thread-safe as long as nobody sets the environment.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// $TESSERA_CACHE or, if that is not there or empty, $HOME/.cache/tessera. FailedPrecondition if neither is there.
absl::StatusOr<std::string> CacheFolder();

}  // namespace tessera
