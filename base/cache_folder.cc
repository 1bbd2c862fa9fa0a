#include "tessera/base/cache_folder.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tessera {

std::string CacheFolder() {
  const char* cache = std::getenv("TESSERA_CACHE");
  if (cache != nullptr && *cache != '\0') return cache;
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "" : home, "/.cache/tessera");
}

}  // namespace tessera
