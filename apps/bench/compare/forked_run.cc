#include "tessera/apps/bench/compare/forked_run.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

// The kind of a process's last message, whose bytes are the status: a code, the field of wrong usage, NUL, the message.
constexpr int kReturned = -1;

struct Head {
  int32_t kind;
  uint32_t bytes;
};

absl::Status SystemError(const char* call) { return absl::InternalError(absl::StrCat(call, ": ", std::strerror(errno))); }

absl::Status WriteAll(int pipe, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  for (ssize_t written; bytes > 0; next += written, bytes -= written) {
    written = write(pipe, next, bytes);
    if (written < 0 && errno == EINTR) written = 0;
    if (written < 0) return SystemError("write to a pipe");
  }
  return absl::OkStatus();
}

absl::Status ReadAll(int pipe, void* data, size_t bytes) {
  char* next = static_cast<char*>(data);
  for (ssize_t count; bytes > 0; next += count, bytes -= count) {
    count = read(pipe, next, bytes);
    if (count < 0 && errno != EINTR) return SystemError("read from a pipe");
    if (count == 0) return absl::AbortedError("its process ended before its work was done");
    if (count < 0) count = 0;
  }
  return absl::OkStatus();
}

[[noreturn]] void RunAsChild(int parent, int pipe, const std::function<absl::Status(MessageSender& sender)>& function) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // The parent ended before prctl took effect.
  MessageSender sender(pipe);
  absl::Status status;
  try {
    status = function(sender);
  } catch (const std::exception& exception) {  // As in AppMain: when memory ends.
    status = absl::ResourceExhaustedError(exception.what());
  }
  const std::string code(1, static_cast<char>(status.code())), end(1, '\0');
  const std::string bytes = absl::StrCat(code, FieldOf(status), end, status.message());
  _exit(sender.Send(kReturned, bytes).ok() ? 0 : 1);
}

}  // namespace

absl::Status MessageSender::Send(int kind, absl::string_view bytes) {
  const Head head = {kind, static_cast<uint32_t>(bytes.size())};
  RETURN_IF_ERROR(WriteAll(pipe_, &head, sizeof(head)));
  return WriteAll(pipe_, bytes.data(), bytes.size());
}

absl::StatusOr<std::unique_ptr<ForkedRun>> ForkedRun::Start(const std::function<absl::Status(MessageSender& sender)>& function) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return SystemError("pipe");
  const int parent = getpid(), process = fork();
  if (process == 0) {
    close(pipe[0]);
    RunAsChild(parent, pipe[1], function);
  }
  close(pipe[1]);
  if (process < 0) {
    close(pipe[0]);
    return SystemError("fork");
  }
  return std::unique_ptr<ForkedRun>(new ForkedRun(process, pipe[0]));
}

ForkedRun::~ForkedRun() {
  close(pipe_);
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {}
}

absl::StatusOr<std::optional<Message>> ForkedRun::Next() {
  Head head;
  Message message;
  RETURN_IF_ERROR(ReadAll(pipe_, &head, sizeof(head)));
  message.kind = head.kind;
  message.bytes.resize(head.bytes);
  RETURN_IF_ERROR(ReadAll(pipe_, message.bytes.data(), head.bytes));
  if (head.kind != kReturned) return message;
  const std::pair<std::string, std::string> said = absl::StrSplit(message.bytes.substr(1), absl::MaxSplits('\0', 1));
  const absl::Status status(static_cast<absl::StatusCode>(message.bytes[0]), said.second);
  if (status.ok()) return std::nullopt;
  return said.first.empty() ? status : ForField(said.first, status);
}

}  // namespace tessera
