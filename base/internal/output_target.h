// The target of an output: the file at the end of a path, and so the way to write.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace tessera {

struct OutputTarget {
  enum class Kind {
    kFile,    // A regular file that is replaced, or a new file: `directory` and `name`.
    kOpen,    // A file that this process has open for writing: `descriptor`.
    kStream,  // A FIFO, a device, or a file that another process has open: opened by the path, and appended to.
  };
  Kind kind = Kind::kFile;
  std::string directory = {}, name = {};
  mode_t mode = 0666;          // Mode of the replaced file, else 0666 without the umask.
  bool replaces = false;
  int descriptor = -1;
};

// Finds the target of an output. InvalidArgument (path, kind) for a folder, a socket or a disk; PermissionDenied for a file that may not be
// written.
absl::StatusOr<OutputTarget> ResolveOutput(const std::string& path);

// As ResolveOutput, for an output that must be a separate file: InvalidArgument for all kinds except kFile.
absl::StatusOr<OutputTarget> ResolveOwnFile(const std::string& path);

// Returns OK if a file can be made in the target's folder. REQUIRES: kFile.
absl::Status CheckFolder(const std::string& path, const OutputTarget& target);

}  // namespace tessera
