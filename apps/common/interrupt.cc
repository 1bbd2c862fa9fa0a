#include "tessera/apps/common/interrupt.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>

#include <fcntl.h>
#include <glog/logging.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tessera/base/file.h"

namespace tessera {
namespace {

// Lock-free atomics, and descriptors that are set before the handler can want them: all that a signal handler may touch.
std::atomic<bool> caught{false};
std::atomic<bool> cancel{false};
std::atomic<int> pending_signal{0};   // Since ForgetInterrupt; 0: none.
std::atomic<int> ending_signal{0};    // That has asked for the program's end; 0: none.
std::atomic<bool> ctrl_c_ends_program{true};
int wake_pipe[2] = {-1, -1};          // A byte for each signal that WaitForInput has not told of.
timer_t grace_timer;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// By the signal's default action, so that a shell's loop around the program sees a Ctrl-C and ends, too.
void EndProcess(int signal) {
  RemoveTemporaryFiles();
  if (signal == SIGPIPE) _exit(0);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

extern "C" void OnSignal(int signal) {
  const int error = errno;  // Of the call that was interrupted.
  const bool first = pending_signal.exchange(signal) == 0;
  if (!caught || !first || signal == SIGPIPE) EndProcess(signal);
  if (signal != SIGINT || ctrl_c_ends_program) {
    ending_signal = signal;
    const itimerspec grace = {.it_value = {.tv_nsec = kGraceMillis * 1'000'000L}};
    timer_settime(grace_timer, 0, &grace, nullptr);
  }
  cancel = true;
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], "", 1);
  errno = error;
}

extern "C" void OnGraceOver(int) { EndProcess(ending_signal); }

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // Who must not wait on has WaitForInput.
  sigemptyset(&action.sa_mask);
  CHECK_EQ(sigaction(signal, &action, nullptr), 0);
}

bool IsIgnored(int signal) {
  struct sigaction action;
  CHECK_EQ(sigaction(signal, nullptr, &action), 0);
  return action.sa_handler == SIG_IGN;
}

void DrainWakePipe() {
  char bytes[16];
  while (read(wake_pipe[0], bytes, sizeof(bytes)) > 0) {}
}

// A pipe tells its writer that the reader has gone only when it writes. Long before that the work may have become useless.
void WatchReaderOfOutput() {
  struct stat output;
  if (fstat(STDOUT_FILENO, &output) != 0 || !(S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode))) return;
  std::thread([] {
    pollfd reader = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    while ((reader.revents & (POLLERR | POLLHUP)) == 0) poll(&reader, 1, -1);
    EndProcess(SIGPIPE);
  }).detach();
}

}  // namespace

void EndOnSignals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!IsIgnored(signal)) Handle(signal, OnSignal);
  }
  Handle(SIGPIPE, OnSignal);  // Even if ignored: many a parent passes that on unawares.
  std::signal(SIGXFSZ, SIG_IGN);  // A file that a limit does not allow is an error like any other.
  WatchReaderOfOutput();
}

void CatchSignals(CtrlC meaning) {
  CHECK_EQ(pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK), 0);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;  // Nobody else's, unlike SIGALRM.
  CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &grace_timer), 0);
  Handle(SIGRTMIN, OnGraceOver);
  ctrl_c_ends_program = meaning == CtrlC::kEndsProgram;
  caught = true;
}

const std::atomic<bool>& CancelRequested() { return cancel; }
void RequestCancel() { cancel = true; }
bool TerminationRequested() { return ending_signal != 0; }

void ForgetInterrupt() {
  if (TerminationRequested()) return;
  DrainWakePipe();
  cancel = false;  // A signal since the line above is not lost: WaitForInput still tells of it.
  pending_signal = 0;
}

bool WaitForInput(int file) {
  pollfd files[] = {{.fd = file, .events = POLLIN, .revents = 0}, {.fd = wake_pipe[0], .events = POLLIN, .revents = 0}};
  while (true) {
    const int ready = poll(files, 2, -1);  // Passes over the wake pipe while that is -1.
    if (ready < 0 && errno == EINTR) continue;
    if (files[1].revents == 0) return true;
    DrainWakePipe();
    return false;
  }
}

void EndAsSignalled() {
  const int signal = TerminationRequested() ? ending_signal : pending_signal;
  if (signal != 0) EndProcess(signal);
}

}  // namespace tessera
