// Tells whether the system refuses a call in principle: a file system, a container or an old kernel lacks the call, or denies this process
// the call.
//
//   if (fallocate(file, 0, 0, bytes) != 0 && IsRefusal(errno)) ...   // another way, or without: nothing is broken, full or gone
#pragma once

#include <cerrno>

namespace tessera {

inline bool IsRefusal(int error) {
  return error == EPERM || error == EACCES || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

}  // namespace tessera
