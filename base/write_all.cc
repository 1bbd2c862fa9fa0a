#include "tessera/base/write_all.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace tessera {

int WriteAll(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(written);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd file = {.fd = descriptor, .events = POLLOUT, .revents = 0};
      if (poll(&file, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace tessera
