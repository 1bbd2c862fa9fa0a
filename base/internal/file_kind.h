// Names the kind of file at a path, in words.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tessera {

inline absl::string_view KindOfFile(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

inline absl::Status WrongKind(const std::string& path, absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": found ", found, ", expected ", expected));
}

inline absl::Status CheckRegular(const std::string& path, mode_t mode) {
  return S_ISREG(mode) ? absl::OkStatus() : WrongKind(path, KindOfFile(mode), "a regular file");
}

}  // namespace tessera
