#include "tessera/base/cache_folder.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<std::string> CacheFolder() {
  const char* cache = std::getenv("TESSERA_CACHE");
  if (cache != nullptr && *cache != '\0') return cache;
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return absl::StrCat(home, "/.cache/tessera");
  return absl::FailedPreconditionError("cache folder: found neither TESSERA_CACHE nor HOME in the environment, expected one of them");
}

}  // namespace tessera
