// Ctrl-C ends an answer, and a second time the program; SIGTERM ends both.
//
//   CatchInterrupts();                                        // once, when there is something to end cleanly
//   GenerateOptions options = {.cancel = &CancelRequested()};
//   if (TerminationRequested()) return absl::CancelledError("");
//   ForgetInterrupt();                                        // the next answer
//
// A second signal before ForgetInterrupt ends the process at once, with exit code 130 (Ctrl-C) or 143 (SIGTERM). Without
// CatchInterrupts signals do what they always do. Threads: signals come on any; the rest is the main thread's.
#pragma once

#include <atomic>

namespace tessera {

void CatchInterrupts();

// True from a signal, or from RequestCancel, to ForgetInterrupt.
const std::atomic<bool>& CancelRequested();
void RequestCancel();

// True for good after SIGTERM.
bool TerminationRequested();

void ForgetInterrupt();

// What a program that ends because of a Cancelled status exits with: 143 after SIGTERM, 130 after Ctrl-C, else 0.
int SignalExitCode();

}  // namespace tessera
