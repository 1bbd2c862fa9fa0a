#include "tessera/base/internal/read_to_end.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/internal/descriptor.h"

namespace tessera {
namespace {

// The next bytes; 0 at the end, -1 with errno.
ssize_t ReadSome(int descriptor, char* out, size_t size) {
  while (true) {
    const ssize_t got = read(descriptor, out, size);
    if (got >= 0) return got;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd file = {.fd = descriptor, .events = POLLIN, .revents = 0};
      if (poll(&file, 1, -1) < 0 && errno != EINTR) return -1;
    } else if (errno != EINTR) {
      return -1;
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadToEnd(int descriptor, const std::string& path, int64_t size, int64_t max_bytes) {
  const auto too_large = [&](absl::string_view found) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": file size: found ", found, ", expected at most ", max_bytes, " bytes"));
  };
  if (size > max_bytes) return too_large(absl::StrCat(size, " bytes"));
  std::string contents(size + 1, '\0');
  int64_t filled = 0;
  while (true) {
    const ssize_t got = ReadSome(descriptor, contents.data() + filled, contents.size() - filled);
    if (got < 0) return SystemError(path, "read");
    if (got == 0) break;
    filled += got;
    if (filled > max_bytes) return too_large("more");
    if (filled == static_cast<int64_t>(contents.size())) contents.resize(2 * contents.size() + 4096);
  }
  contents.resize(filled);
  return contents;
}

}  // namespace tessera
