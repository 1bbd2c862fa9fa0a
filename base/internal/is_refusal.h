// Whether the system refuses a call as such: a file system, a container or an old kernel has no such thing, or keeps it from this process.
//
//   if (fallocate(file, 0, 0, bytes) != 0 && IsRefusal(errno)) ...   // another way, or without: nothing is broken, full or gone
#pragma once

#include <cerrno>

namespace tessera {

inline bool IsRefusal(int error) {
  return error == EPERM || error == EACCES || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

}  // namespace tessera
