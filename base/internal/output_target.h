// Where an output goes: what a path leads to, and so how it may be written.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace tessera {

struct OutputTarget {
  enum class Kind {
    kFile,    // A regular file that is replaced, or none yet: `directory` and `name`.
    kOpen,    // What this process has open for writing: `descriptor`.
    kStream,  // A FIFO, a device, or what another process has open: opened by the path, and added to.
  };
  Kind kind = Kind::kFile;
  std::string directory = {}, name = {};
  mode_t mode = 0666;          // Mode of the file that is replaced, else 0666 without the umask.
  bool replaces = false;
  int descriptor = -1;
};

// InvalidArgument (path, what it is) for a folder, a socket or a disk; PermissionDenied for a file that may not be written.
absl::StatusOr<OutputTarget> ResolveOutput(const std::string& path);

// The same, for an output that must be a file of its own: InvalidArgument for all but kFile.
absl::StatusOr<OutputTarget> ResolveOwnFile(const std::string& path);

// OK if a file can be made in the target's folder. REQUIRES: kFile.
absl::Status CheckFolder(const std::string& path, const OutputTarget& target);

}  // namespace tessera
