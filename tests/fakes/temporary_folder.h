// A folder of the test's own, which is removed with its contents.
//
//   TemporaryFolder folder;                                           // or folder(TemporaryFolder::InMemory())
//   builder.WriteTo(folder.Path("model.gguf"));
//
// Tests that run at the same time never share one. Thread-compatible.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "glog/logging.h"

namespace tessera {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent = testing::TempDir())
      : path_(std::filesystem::path(parent) / "tessera_XXXXXX") {
    PCHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  ~TemporaryFolder() {
    std::error_code left;
    std::filesystem::remove_all(path_, left);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Returns a parent in memory, whose files may have holes of any size; the usual parent where the system has none.
  static std::string InMemory() { return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : testing::TempDir(); }

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  int64_t Files() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::string path_;
};

}  // namespace tessera
