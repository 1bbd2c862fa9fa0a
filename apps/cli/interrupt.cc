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

#include "tessera/apps/cli/text/output.h"
#include "tessera/base/file.h"
#include "tessera/base/start_thread.h"

namespace tessera {
namespace {

std::atomic<bool> caught{false};
std::atomic<bool> cancel{false};
std::atomic<int> pending_signal{0};   // The signal since ForgetInterrupt; 0: none.
std::atomic<int> ending_signal{0};    // The signal that has asked for the program's end; 0: none.
std::atomic<bool> reader_gone{false};  // The reader of standard output.
ReaderGone when_reader_goes = ReaderGone::kEndsAtOnce;
std::atomic<bool> ctrl_c_ends_program{true};
int wake_pipe[2] = {-1, -1};          // A byte for each signal or resumption. -1: there was no pipe to be had.
std::atomic<bool> unreported{false};  // A signal that WaitForInput has not reported. Without the pipe, WaitForInput polls this flag.
constexpr int kLookMillis = 50;
std::atomic<void (*)()> leave_terminal{nullptr}, back_to_terminal{nullptr};
std::mutex mutex;                     // A signal is recorded as a whole, and forgotten as a whole.

void Call(void (*function)()) {
  if (function != nullptr) function();
}

void WakeWaiting() { [[maybe_unused]] const ssize_t written = write(wake_pipe[1], "", 1); }

// Ends the process by the signal's default action, so that a shell's loop around the program sees Ctrl-C and ends, too.
void EndProcess(int signal) {
  GiveTerminalBack();
  RemoveTemporaryFiles();
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

// REQUIRES: the mutex is held.
void AskForEnd() {
  unreported = true;
  WakeWaiting();
  cancel = true;  // Last: a thread that sees `cancel` sees the rest.
}

// Ends the process with a message after SIGBUS. A page of a mapped file cannot be read, since the file was cut or the disk fails.
void EndForLostPage(int) {
  constexpr char kWhy[] = ": a page of a mapped file cannot be read: the file was cut, or its disk fails (SIGBUS)\n";
  WriteError(program_invocation_short_name);
  WriteError({kWhy, sizeof(kWhy) - 1});
  GiveTerminalBack();
  RemoveTemporaryFiles();
  _exit(1);
}

void Tell(int signal) {
  const std::lock_guard<std::mutex> lock(mutex);
  const bool first = pending_signal.exchange(signal) == 0;
  if (!caught || !first) EndProcess(signal);
  if (signal != SIGINT || ctrl_c_ends_program) ending_signal = signal;
  AskForEnd();
}

// Waits for signals, forever. Signals are not handled on the threads that work. A working thread may be in a system call that backs memory,
// or that reads a file on a busy disk. Such a thread would notice a signal only when the call returns, which can take seconds. The end of
// the process cuts such calls short.
void Hear(const sigset_t& signals) {
  constexpr timespec kGrace = {.tv_sec = 0, .tv_nsec = kGraceMillis * 1'000'000L};
  while (true) {
    const int signal = ending_signal != 0 ? sigtimedwait(&signals, nullptr, &kGrace) : sigwaitinfo(&signals, nullptr);
    if (signal > 0) Tell(signal);
    else if (errno == EAGAIN) EndProcess(ending_signal);
  }
}

bool IsIgnored(int signal) {
  struct sigaction action;
  CHECK_EQ(sigaction(signal, nullptr, &action), 0);
  return action.sa_handler == SIG_IGN;
}

// Empties the pipe. Returns true if a signal came, which counts as reported from now on.
bool DrainWakePipe() {
  char bytes[16];
  while (read(wake_pipe[0], bytes, sizeof(bytes)) > 0) {}
  return unreported.exchange(false);
}

sigset_t StopSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (int signal : {SIGTSTP, SIGCONT}) {
    if (!IsIgnored(signal)) sigaddset(&stops, signal);
  }
  return stops;
}

// Stops the process as Ctrl-Z would have. Returns when the process goes on: at once if no shell could wake the process.
void StopProcess() {
  GiveTerminalBack();
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
    if (signal == SIGCONT) WakeWaiting();
  }
}

bool ReaderHasGone(int timeout_millis) {
  pollfd reader = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&reader, 1, timeout_millis) > 0 && (reader.revents & (POLLERR | POLLHUP)) != 0;
}

// Watches the reader of standard output. A pipe tells the writer only at the next write that the reader has gone. The work may have been
// useless for long by then.
void WatchReaderOfOutput() {
  struct stat output;
  if (fstat(STDOUT_FILENO, &output) != 0 || !(S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode))) return;
  if (ReaderHasGone(/*timeout_millis=*/0)) return TellReaderGone();
  absl::StatusOr<std::thread> watching = StartThread([] {
    while (!ReaderHasGone(/*timeout_millis=*/-1)) {}
    TellReaderGone();
  });
  if (watching.ok()) watching->detach();  // Else the next write notices.
}

// Lets each thread that a signal comes to end the process, where the system has no thread to give.
void HearOnAnyThread(const sigset_t& signals) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (sigismember(&signals, signal) == 1) std::signal(signal, EndProcess);
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace

void GiveTerminalBack() { Call(leave_terminal); }

void TellReaderGone() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (when_reader_goes == ReaderGone::kEndsAtOnce) EndProcess(SIGPIPE);
  reader_gone = true;
  if (caught) AskForEnd();
}

void EndOnSignals(ReaderGone reader) {
  when_reader_goes = reader;
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!IsIgnored(signal)) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // In every thread, since each begins with the mask of the thread that starts it.
  const sigset_t stops = StopSignals();
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);    // In the threads that begin here: if the main thread blocks them later, all do.
  absl::StatusOr<std::thread> hearing = StartThread([signals] { Hear(signals); });
  if (hearing.ok()) hearing->detach();
  else HearOnAnyThread(signals);
  std::signal(SIGPIPE, SIG_IGN);  // Each write decides about the end of the reader: no effect, for standard error.
  std::signal(SIGBUS, EndForLostPage);
  std::signal(SIGXFSZ, SIG_IGN);  // A file beyond the limit on sizes is an error like any other.
  if (reader != ReaderGone::kEndsNothing) WatchReaderOfOutput();
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
}

void HearStops(void (*leave)(), void (*back)()) {
  leave_terminal = leave;
  back_to_terminal = back;
  static bool heard = false;
  if (std::exchange(heard, true)) return;
  const sigset_t stops = StopSignals();
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  absl::StatusOr<std::thread> hearing = StartThread([stops] { HearStopSignals(stops); });
  if (hearing.ok()) hearing->detach();
  else pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);  // Stops are as for other programs then.
}

void CatchSignals(CtrlC meaning) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!caught && pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) wake_pipe[0] = wake_pipe[1] = -1;
  ctrl_c_ends_program = meaning == CtrlC::kEndsProgram;
  caught = true;
  if (reader_gone) AskForEnd();
}

const std::atomic<bool>& CancelRequested() { return cancel; }
void RequestCancel() { cancel = true; }
bool TerminationRequested() { return ending_signal != 0 || (reader_gone && caught); }

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
    const int ready = poll(files, 2, caught && wake_pipe[0] < 0 ? kLookMillis : -1);  // poll ignores the wake pipe while that is -1.
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && !unreported) continue;
    if (ready != 0 && files[1].revents == 0) return Wake::kInput;
    return DrainWakePipe() ? Wake::kSignal : Wake::kResumed;
  }
}

void EndAsSignalled() {
  if (ending_signal != 0) EndProcess(ending_signal);
  if (reader_gone) EndProcess(SIGPIPE);
  if (pending_signal != 0) EndProcess(pending_signal);
}

}  // namespace tessera
