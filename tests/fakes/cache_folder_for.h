// Sets another cache folder during the object's lifetime.
//
//   const TemporaryFolder folder;
//   const CacheFolderFor cache(folder.path());          // CacheFolder(), and that of the programs that are run
//
// The old value is restored even if the test fails, so that later tests find their models. REQUIRES: no other thread.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tessera {

class CacheFolderFor {
 public:
  explicit CacheFolderFor(const std::string& path) {
    if (const char* const before = std::getenv(kVariable)) before_ = before;
    setenv(kVariable, path.c_str(), /*overwrite=*/1);
  }
  ~CacheFolderFor() {
    if (before_.has_value()) setenv(kVariable, before_->c_str(), 1);
    else unsetenv(kVariable);
  }
  CacheFolderFor(const CacheFolderFor&) = delete;
  CacheFolderFor& operator=(const CacheFolderFor&) = delete;

 private:
  static constexpr char kVariable[] = "TESSERA_CACHE";
  std::optional<std::string> before_;
};

}  // namespace tessera
