// What ends a program early: Ctrl-C (SIGINT), SIGTERM, a terminal that closes (SIGHUP), a reader of standard output that goes.
//
//   EndOnSignals();                                           // in main: each of them ends the process at once
//   CatchSignals(CtrlC::kEndsProgram);                        // from here on there is something to end in order
//   EngineOptions options = {.cancel = &CancelRequested()};
//   if (TerminationRequested()) return absl::CancelledError("");
//
// Before CatchSignals a signal ends the process where it stands: its status is the signal's own (a shell shows 130, 143, 129), and
// no temporary file stays behind. After it, the first signal asks for an end (CancelRequested) and wakes WaitForInput. If the
// program is still there kGraceMillis later, it ends as before; so it does at once at a second signal before ForgetInterrupt.
// With CtrlC::kEndsAnswer, Ctrl-C alone sets no such limit: the program goes on with the next question.
// A reader of standard output that goes away ends the process at once and quietly, with exit code 0, even while nothing is written.
// A file beyond the limit on sizes (SIGXFSZ) ends nothing: it is an error to who writes it.
// A signal that is ignored when the program starts (nohup) stays so.
// A forked child hears none of these: who forks it ends it.
// Threads: signals are heard by one of their own; the rest is the main thread's.
#pragma once

#include <atomic>

namespace tessera {

constexpr int kGraceMillis = 100;

void EndOnSignals();  // REQUIRES: called once, before any other thread begins.

enum class CtrlC { kEndsProgram, kEndsAnswer };
void CatchSignals(CtrlC meaning);  // What was said last counts. REQUIRES: called after EndOnSignals.

// True from a signal, or from RequestCancel, to ForgetInterrupt.
const std::atomic<bool>& CancelRequested();
void RequestCancel();

// True for good once a signal has asked for the program's end, not only the answer's.
bool TerminationRequested();

// Ready for the next answer, unless the program is to end.
void ForgetInterrupt();

// Waits until `file` can be read, or has ended. False, once for each signal, if one came first or since ForgetInterrupt.
bool WaitForInput(int file);

// Ends the process by the signal that came. Returns if none did.
void EndAsSignalled();

}  // namespace tessera
