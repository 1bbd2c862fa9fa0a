// What ends a program early: Ctrl-C (SIGINT), SIGTERM, a terminal that closes (SIGHUP), a reader of standard output that goes.
//
//   EndOnSignals(ReaderGone::kEndsAtOnce);                    // in main: each of them ends the process at once
//   CatchSignals(CtrlC::kEndsProgram);                        // from here on the end must be in order
//   EngineOptions options = {.cancel = &CancelRequested()};
//   if (TerminationRequested()) return absl::CancelledError("");
//
// Before CatchSignals a signal ends the process at once: its exit status is that of the signal (a shell shows 130, 143, 129), and no
// temporary file stays behind. After it, the first signal asks for an end (CancelRequested) and wakes WaitForInput. If the program still
// runs kGraceMillis later, it is ended as before. A second signal before ForgetInterrupt ends it at once. With CtrlC::kEndsAnswer, Ctrl-C
// alone sets no such limit: the program goes on with the next question. A reader of standard output that goes away ends the process quietly
// by SIGPIPE, as other filters (a shell shows 141), even while nothing is written and even where SIGPIPE was ignored, which many parents
// pass on without intent. It ends at once, or, if files were asked for, once they are written. The reader of standard error may go: what it
// would have read is lost, nothing else. A file beyond the limit on sizes (SIGXFSZ) ends nothing: the write fails with an error. A page
// of a mapped file that cannot be read (SIGBUS) ends the process with a message and exit code 1. A signal that is ignored when the
// program starts (nohup) stays ignored. A forked child does not receive these; the process that forked it ends it. Threads: a thread of
// its own waits for signals; all functions are for the main thread. Where the system has no thread to give, every signal ends the process
// at once, and a reader that has gone is noticed at the next write.
#pragma once

#include <atomic>

namespace tessera {

constexpr int kGraceMillis = 100;

// The meaning of the end of standard output's reader.
enum class ReaderGone {
  kEndsAtOnce,   // Nobody wants anything else of this run.
  kEndsNothing,  // Nothing is written there: all text goes to a file. It is not noticed.
  kEndsInOrder,  // Files are wanted: WriteOutput says so, once there is text. After CatchSignals, too, as a signal without a limit of time.
};

void EndOnSignals(ReaderGone reader);  // REQUIRES: called once, before any other thread begins.

enum class CtrlC { kEndsProgram, kEndsAnswer };
void CatchSignals(CtrlC meaning);  // The last call counts. REQUIRES: called after EndOnSignals.

// True from a signal, or from RequestCancel, to ForgetInterrupt.
const std::atomic<bool>& CancelRequested();
void RequestCancel();

// True for good once a signal has asked for the program's end, not only the answer's.
bool TerminationRequested();

// Forgets the signal, for the next answer, unless the program is to end.
void ForgetInterrupt();

// Waits for the first of three events. kInput: `file` can be read, or has ended. kSignal: a signal came, now or since ForgetInterrupt; each
// signal is returned once. kResumed: the program continues after a stop (Ctrl-Z), if HearStops was called.
enum class Wake { kInput, kSignal, kResumed };
Wake WaitForInput(int file);

// Sets functions for a program that changes its terminal. `leave` is called before the program ends by a signal or is stopped (Ctrl-Z),
// `back` when the program continues. Both may be called on another thread, or in a signal's handler. Null: no calls from now on.
// REQUIRES: called by the main thread, before worker threads are started.
void HearStops(void (*leave)(), void (*back)());
void GiveTerminalBack();  // Calls `leave`, if it is set, before an end that is none of these.

// For a write to standard output that found no reader. Returns unless that ends the process at once.
void TellReaderGone();

// Ends the process by the signal that came, or by SIGPIPE if the reader has gone. Returns otherwise.
void EndAsSignalled();

}  // namespace tessera
