// Where files are kept that can be fetched or measured again.
//
//   const std::string path = absl::StrCat(CacheFolder(), "/model.gguf");
//
// Thread-safe as long as nobody sets the environment.
#pragma once

#include <string>

#include "tessera/base/cpp20.h"

namespace tessera {

// $TESSERA_CACHE or, if that is not there or empty, ~/.cache/tessera.
std::string CacheFolder();

}  // namespace tessera
