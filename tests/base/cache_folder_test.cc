#include "tessera/base/cache_folder.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Sets environment variables for as long as it lives.
class Environment {
 public:
  Environment(const char* cache, const char* home) {
    Set("TESSERA_CACHE", cache);
    Set("HOME", home);
  }
  ~Environment() {
    Set("TESSERA_CACHE", cache_ ? cache_->c_str() : nullptr);
    Set("HOME", home_ ? home_->c_str() : nullptr);
  }

 private:
  static std::optional<std::string> Get(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  static void Set(const char* name, const char* value) { value == nullptr ? unsetenv(name) : setenv(name, value, 1); }

  const std::optional<std::string> cache_ = Get("TESSERA_CACHE"), home_ = Get("HOME");
};

TEST(CacheFolder, HeaderExample) {
  const Environment environment("/cache", "/home/a");
  const auto run = []() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
    const std::string path = absl::StrCat(folder, "/model.gguf");
    return path;
  };
  EXPECT_EQ(*run(), "/cache/model.gguf");
}

TEST(CacheFolder, AnEmptyNameIsNone) {
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    const Environment environment(none, "/home/a");
    EXPECT_EQ(*CacheFolder(), "/home/a/.cache/tessera");
  }
}

TEST(CacheFolder, WithoutAHomeThereIsNone) {
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    const Environment environment(none, none);
    EXPECT_EQ(CacheFolder().status().message(),
              "cache folder: found neither TESSERA_CACHE nor HOME in the environment, expected one of them");
  }
}

}  // namespace
}  // namespace tessera
