#include "tessera/apps/cli/text/output.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/base/quoted.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

absl::Status Failed(int error) { return absl::UnavailableError(absl::StrCat("standard output: ", std::strerror(error))); }

}  // namespace

absl::Status WriteOutput(absl::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error == 0) return absl::OkStatus();
  if (error != EPIPE) return Failed(error);
  TellReaderGone();
  return absl::CancelledError("standard output: its reader has gone");
}

void WriteOutputOrCancel(absl::string_view text, absl::Status& status) {
  if (!status.ok() || text.empty()) return;
  status = WriteOutput(text);
  if (!status.ok()) RequestCancel();
}

absl::Status FinishOutput() {
  const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || close(copy) == 0 || errno == EINTR) return absl::OkStatus();  // Without a copy nothing can be asked.
  return Failed(errno);
}

void WriteError(absl::string_view text) { WriteAll(STDERR_FILENO, text); }

void WriteMessage(absl::string_view text) { WriteError(Printable(text)); }

}  // namespace tessera
