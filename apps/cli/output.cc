#include "tessera/apps/cli/output.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// 0, or the error that stopped it.
int WriteAll(int file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(written);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

absl::Status WriteOutput(absl::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("standard output: ", std::strerror(error)));
}

void WriteError(absl::string_view text) { WriteAll(STDERR_FILENO, text); }

}  // namespace tessera
