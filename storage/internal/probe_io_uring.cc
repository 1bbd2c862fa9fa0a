#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tessera/storage/internal/io_uring_device.h"

namespace tessera {
namespace {

constexpr int kMostMilliseconds = 2000;  // The child takes less than one.

// Makes a ring and passes a request through the ring, with all the system calls of a device. 0, or errno. In the child of a process
// with threads: no memory is allocated and no lock taken.
int UseIoUring() {
  io_uring ring;
  if (const int result = io_uring_queue_init(1, &ring, IORING_SETUP_R_DISABLED); result < 0) return -result;
  if (const int result = io_uring_register(ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0); result < 0) return -result;
  io_uring_prep_nop(io_uring_get_sqe(&ring));
  const int result = io_uring_submit_and_wait(&ring, 1);
  return result < 0 ? -result : 0;
}

[[noreturn]] void RunChild(int answer) {
  signal(SIGSYS, SIG_DFL);  // No crash handler of the parent's: to be killed is one of the answers.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int error = UseIoUring();
  const ssize_t written = write(answer, &error, sizeof(error));
  _exit(written == sizeof(error) ? 0 : 1);
}

absl::Status Refused(absl::string_view why) { return absl::FailedPreconditionError(absl::StrCat("io_uring: ", why)); }

}  // namespace

// Asks in a child. The answer comes through a pipe, since another part of the program may collect the child's exit status before us. A
// filter that
// kills threads instead of processes can leave the child without an end.
absl::Status ProbeIoUring() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Refused(absl::StrCat("cannot ask: ", std::strerror(errno)));
  const pid_t child = fork();
  if (child == 0) RunChild(ends[1]);
  const int fork_error = errno;
  close(ends[1]);
  int error = 0;
  ssize_t got = -1;
  if (child > 0) {
    pollfd answered = {ends[0], POLLIN, 0};
    while (poll(&answered, 1, kMostMilliseconds) < 0 && errno == EINTR) continue;
    if (answered.revents != 0) {
      got = read(ends[0], &error, sizeof(error));
    } else {
      kill(child, SIGKILL);
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  close(ends[0]);
  if (child < 0) return Refused(absl::StrCat("cannot ask: ", std::strerror(fork_error)));
  if (got != sizeof(error)) return Refused("a process that uses it is killed");
  return error == 0 ? absl::OkStatus() : Refused(std::strerror(error));
}

}  // namespace tessera
