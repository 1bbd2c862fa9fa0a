// Where a path leads once its links are followed: to a name in a folder, or to what a process has open.
//
//   ASSIGN_OR_RETURN(const FollowedPath end, FollowPath("/dev/stdout"));   // end.descriptor is 1
//
// The system has links whose text is not where they lead: those to open files, in /proc. A writer that believes the text would put a new
// file in the place of a log which others go on writing to.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/statusor.h"

namespace tessera {

struct FollowedPath {
  std::string path;               // The last name; not a link, unless into_proc.
  int descriptor = -1;            // Not -1: it names this open file of the process: /dev/stdout, /dev/fd/N, /proc/self/fd/N.
  bool into_proc = false;         // A link to what this or another process has open.
  bool exists = false;
  struct stat found = {};         // Where the path leads. REQUIRES: exists.
};

// An error (the path, what cannot be done) for a descriptor that is not open, too many links, or a folder that cannot be searched. A file
// that is not there, also at the end of links, is no error.
absl::StatusOr<FollowedPath> FollowPath(const std::string& path);

// The lowest descriptor that this process has open for writing on that file; -1: none.
int OpenForWriting(const struct stat& file);

bool IsSameFile(const struct stat& a, const struct stat& b);

// True if the descriptor can be written, or, with `write` false, be read.
bool IsOpenFor(int descriptor, bool write);

}  // namespace tessera
