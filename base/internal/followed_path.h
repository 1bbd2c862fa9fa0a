// The end of a path after following links: a name in a folder, or a file that a process has open.
//
//   ASSIGN_OR_RETURN(const FollowedPath end, FollowPath("/dev/stdout"));   // end.descriptor is 1
//
// In /proc the system has links to open files, whose text is not the real target. A writer that trusts the text would put a new file in the
// place of a log that other processes go on writing to.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/statusor.h"

namespace tessera {

struct FollowedPath {
  std::string path;               // The last name; not a link, unless into_proc.
  int descriptor = -1;            // Not -1: the path names this open file of the process: /dev/stdout, /dev/fd/N, /proc/self/fd/N.
  bool into_proc = false;         // The path is a link to an open file of this or another process.
  bool exists = false;
  struct stat found = {};         // The file at the end of the path. REQUIRES: exists.
};

// Follows `path`. An error (the path, the failed action) for a descriptor that is not open, too many links, or a folder that cannot be
// searched. A file that does not exist, also at the end of links, is no error.
absl::StatusOr<FollowedPath> FollowPath(const std::string& path);

// Returns the lowest descriptor that this process has open for writing on the file; -1 if there is none.
int OpenForWriting(const struct stat& file);

bool IsSameFile(const struct stat& a, const struct stat& b);

// Returns true if the descriptor can be written or, with `write` false, be read.
bool IsOpenFor(int descriptor, bool write);

}  // namespace tessera
