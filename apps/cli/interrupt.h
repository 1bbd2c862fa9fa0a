// What ends a program early: Ctrl-C (SIGINT), SIGTERM, a terminal that closes (SIGHUP), a reader of standard output that goes.
//
//   EndOnSignals();                                           // in main: each of them ends the process at once
//   CatchSignals(CtrlC::kEndsProgram);                        // from here on the end must be in order
//   EngineOptions options = {.cancel = &CancelRequested()};
//   if (TerminationRequested()) return absl::CancelledError("");
//
// Before CatchSignals a signal ends the process at once: its exit status is that of the signal (a shell shows 130, 143, 129), and no
// temporary file stays behind. After it, the first signal asks for an end (CancelRequested) and wakes WaitForInput. If the program still
// runs kGraceMillis later, it is ended as before. A second signal before ForgetInterrupt ends it at once. With CtrlC::kEndsAnswer, Ctrl-C
// alone sets no such limit: the program goes on with the next question. A reader of standard output that goes away ends the process at once
// and quietly, with exit code 0, even while nothing is written. A file beyond the limit on sizes (SIGXFSZ) ends nothing: the write fails
// with an error. A page of a mapped file that cannot be read (SIGBUS) ends the process with a message and exit code 1. A signal that is
// ignored when the program starts (nohup) stays ignored. A forked child does not receive these; the process that forked it ends it. Threads:
// a thread of its own waits for signals; all functions are for the main thread. Where the system has no thread to give, every signal ends
// the process at once, and a reader that has gone is noticed at the next write.
#pragma once

#include <atomic>

namespace tessera {

constexpr int kGraceMillis = 100;

void EndOnSignals();  // REQUIRES: called once, before any other thread begins.

enum class CtrlC { kEndsProgram, kEndsAnswer };
void CatchSignals(CtrlC meaning);  // The last call counts. REQUIRES: called after EndOnSignals.

// True from a signal, or from RequestCancel, to ForgetInterrupt.
const std::atomic<bool>& CancelRequested();
void RequestCancel();

// True for good once a signal has asked for the program's end, not only the answer's.
bool TerminationRequested();

// Forgets the signal, for the next answer, unless the program is to end.
void ForgetInterrupt();

// Waits until `file` can be read, or has ended. False, once for each signal, if one came first or since ForgetInterrupt.
bool WaitForInput(int file);

// Ends the process by the signal that came. Returns if none did.
void EndAsSignalled();

}  // namespace tessera
