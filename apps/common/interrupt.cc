#include "tessera/apps/common/interrupt.h"

#include <csignal>

#include <unistd.h>

namespace tessera {
namespace {

// Lock-free atomics: all that a signal handler may touch.
std::atomic<bool> cancel{false};
std::atomic<bool> terminate{false};
std::atomic<int> pending_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void OnSignal(int signal) {
  if (pending_signal.exchange(signal) != 0) _exit(128 + signal);
  if (signal == SIGTERM) terminate = true;
  cancel = true;
}

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;  // Without SA_RESTART: a read of the next message is interrupted, too.
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& CancelRequested() { return cancel; }
void RequestCancel() { cancel = true; }
bool TerminationRequested() { return terminate; }

void ForgetInterrupt() {
  if (terminate) return;
  pending_signal = 0;
  cancel = false;
}

int SignalExitCode() {
  const int signal = pending_signal;
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace tessera
