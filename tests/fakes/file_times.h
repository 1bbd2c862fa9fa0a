// Waits until a file's next write gets a new time. File systems keep times in steps, some of milliseconds. A file that is written twice
// within one step looks as if written once.
//
//   WaitForLaterFileTime(path);                     // What is written to the file from now on has another time than it has now.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <tuple>

#include "glog/logging.h"
#include "tessera/tests/fakes/await.h"

namespace tessera {

inline auto LastChange(const std::string& path) {
  struct stat found;
  PCHECK(stat(path.c_str(), &found) == 0) << path;
  return std::make_tuple(found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

// Writes a file next to `path` until that file has a later time.
inline void WaitForLaterFileTime(const std::string& path) {
  const std::string other = path + ".time";
  const auto then = LastChange(path);
  CHECK(Await([&] {
    std::ofstream(other) << "now";
    return LastChange(other) > then;
  })) << path << ": found a file system whose time stands still";
  unlink(other.c_str());
}

}  // namespace tessera
