#include "tessera/apps/cli/interrupt.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <glog/logging.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tessera/base/file.h"

namespace tessera {
namespace {

std::atomic<bool> caught{false};
std::atomic<bool> cancel{false};
std::atomic<int> pending_signal{0};   // The signal since ForgetInterrupt; 0: none.
std::atomic<int> ending_signal{0};    // The signal that has asked for the program's end; 0: none.
std::atomic<bool> ctrl_c_ends_program{true};
int wake_pipe[2] = {-1, -1};          // A byte for each signal or resumption that WaitForInput has not reported.
constexpr char kSignalled = 's', kResumed = 'r';
std::atomic<void (*)()> leave_terminal{nullptr}, back_to_terminal{nullptr};
std::mutex mutex;                     // A signal is recorded as a whole, and forgotten as a whole.

void Call(void (*function)()) {
  if (function != nullptr) function();
}

void WakeWaiting(char why) { [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &why, 1); }

// Ends the process by the signal's default action, so that a shell's loop around the program sees Ctrl-C and ends, too.
void EndProcess(int signal) {
  Call(leave_terminal);
  RemoveTemporaryFiles();
  if (signal == SIGPIPE) _exit(0);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

void Tell(int signal) {
  const std::lock_guard<std::mutex> lock(mutex);
  const bool first = pending_signal.exchange(signal) == 0;
  if (!caught || !first) EndProcess(signal);
  if (signal != SIGINT || ctrl_c_ends_program) ending_signal = signal;
  WakeWaiting(kSignalled);
  cancel = true;  // Last: a thread that sees it sees the rest.
}

// Waits for signals, forever. Signals are not handled on the threads that work: a thread in a system call, while memory is backed or a file
// on a busy disk is read, would only notice one when the call returns, which can take seconds. The end of the process cuts such calls
// short.
void Hear(const sigset_t& signals) {
  constexpr timespec kGrace = {.tv_sec = 0, .tv_nsec = kGraceMillis * 1'000'000L};
  while (true) {
    const int signal = TerminationRequested() ? sigtimedwait(&signals, nullptr, &kGrace) : sigwaitinfo(&signals, nullptr);
    if (signal > 0) Tell(signal);
    else if (errno == EAGAIN) EndProcess(ending_signal);
  }
}

bool IsIgnored(int signal) {
  struct sigaction action;
  CHECK_EQ(sigaction(signal, nullptr, &action), 0);
  return action.sa_handler == SIG_IGN;
}

// True if a signal was among what it told.
bool DrainWakePipe() {
  bool signalled = false;
  for (char why; read(wake_pipe[0], &why, 1) == 1;) signalled |= why == kSignalled;
  return signalled;
}

sigset_t StopSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (int signal : {SIGTSTP, SIGCONT}) {
    if (!IsIgnored(signal)) sigaddset(&stops, signal);
  }
  return stops;
}

// Stops the process as Ctrl-Z would have, and returns when it goes on: at once if there is no shell that could wake it.
void StopProcess() {
  Call(leave_terminal);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

void HearStopSignals(const sigset_t& stops) {
  while (true) {
    const int signal = sigwaitinfo(&stops, nullptr);
    if (signal == SIGTSTP) StopProcess();
    if (signal > 0) Call(back_to_terminal);
    if (signal == SIGCONT) WakeWaiting(kResumed);
  }
}

// A pipe tells its writer only at the next write that the reader has gone. The work may have been useless for long by then.
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
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!IsIgnored(signal)) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // In every thread, since each begins with the mask of the thread that starts it.
  const sigset_t stops = StopSignals();
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);    // In the threads that begin here: if the main thread blocks them later, all do.
  std::thread(Hear, signals).detach();
  std::signal(SIGPIPE, EndProcess);  // Even if ignored: many parents pass that on without intent.
  std::signal(SIGXFSZ, SIG_IGN);  // A file beyond the limit on sizes is an error like any other.
  WatchReaderOfOutput();
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
}

void HearStops(void (*leave)(), void (*back)()) {
  leave_terminal = leave;
  back_to_terminal = back;
  static bool heard = false;
  if (std::exchange(heard, true)) return;
  const sigset_t stops = StopSignals();
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  std::thread(HearStopSignals, stops).detach();
}

void CatchSignals(CtrlC meaning) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!caught) CHECK_EQ(pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK), 0);
  ctrl_c_ends_program = meaning == CtrlC::kEndsProgram;
  caught = true;
}

const std::atomic<bool>& CancelRequested() { return cancel; }
void RequestCancel() { cancel = true; }
bool TerminationRequested() { return ending_signal != 0; }

void ForgetInterrupt() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (TerminationRequested()) return;
  DrainWakePipe();
  cancel = false;
  pending_signal = 0;
}

Wake WaitForInput(int file) {
  pollfd files[] = {{.fd = file, .events = POLLIN, .revents = 0}, {.fd = wake_pipe[0], .events = POLLIN, .revents = 0}};
  while (true) {
    const int ready = poll(files, 2, -1);  // poll ignores the wake pipe while that is -1.
    if (ready < 0 && errno == EINTR) continue;
    if (files[1].revents == 0) return Wake::kInput;
    return DrainWakePipe() ? Wake::kSignal : Wake::kResumed;
  }
}

void EndAsSignalled() {
  const int signal = TerminationRequested() ? ending_signal : pending_signal;
  if (signal != 0) EndProcess(signal);
}

}  // namespace tessera
