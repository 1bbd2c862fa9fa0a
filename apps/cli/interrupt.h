// The events that end a program early: Ctrl-C (SIGINT), SIGTERM, a terminal that closes (SIGHUP), a reader of standard output that goes
// away.
//
//   EndOnSignals(ReaderGone::kEndsAtOnce);                    // in main: each of them ends the process at once
//   CatchSignals(CtrlC::kEndsProgram);                        // from here on the end must be in order
//   EngineOptions options = {.cancel = &CancelRequested()};
//   if (TerminationRequested()) return absl::CancelledError("");
//
// Before CatchSignals, a signal ends the process at once. The exit status is the signal's (a shell shows 130, 143, 129), and no temporary
// file stays behind. After CatchSignals, the first signal asks for an end (CancelRequested) and wakes WaitForInput. If the program still
// runs kGraceMillis later, the process is ended as before CatchSignals. A second signal before ForgetInterrupt ends the process at once.
// With CtrlC::kEndsAnswer, Ctrl-C alone sets no such limit: the program goes on with the next question.
// Readers: when the reader of standard output goes away, SIGPIPE ends the process quietly, like other filters (a shell shows 141). This
// holds even while nothing is written. It also holds where SIGPIPE was ignored, since many parents pass that setting on without intent. The
// process ends at once, or, if files were asked for, once the files are written. The reader of standard error may go: unread messages are
// lost, nothing else.
// Other signals: a file beyond the limit on sizes (SIGXFSZ) ends nothing: the write fails with an error. A page of a mapped file that
// cannot be read (SIGBUS) ends the process with a message and exit code 1. A signal that is ignored when the program starts (nohup) stays
// ignored. A forked child receives none of the signals above; the process that forked the child ends the child.
// Threads: a separate thread waits for signals; all functions are for the main thread. Where the system has no thread to give, every signal
// ends the process at once. A reader that has gone is then noticed at the next write.
#pragma once

#include <atomic>

namespace tessera {

constexpr int kGraceMillis = 100;

// The meaning of the end of standard output's reader.
enum class ReaderGone {
  kEndsAtOnce,   // Standard output is the run's only result.
  kEndsNothing,  // Nothing is written there: all text goes to a file. The end is not noticed.
  kEndsInOrder,  // Files are wanted: the next WriteOutput is Cancelled. After CatchSignals, also as a signal without a time limit.
};

void EndOnSignals(ReaderGone reader);  // REQUIRES: called once, before any other thread begins.

enum class CtrlC { kEndsProgram, kEndsAnswer };
void CatchSignals(CtrlC meaning);  // The last call counts. REQUIRES: called after EndOnSignals.

// Returns true from a signal, or from RequestCancel, to ForgetInterrupt.
const std::atomic<bool>& CancelRequested();
void RequestCancel();

// Returns true for good once a signal has asked for the program's end, not only for the end of an answer.
bool TerminationRequested();

// Forgets the signal, for the next answer, unless the program is to end.
void ForgetInterrupt();

// Waits for the first of three events. kInput: `file` can be read, or has ended. kSignal: a signal came, now or since ForgetInterrupt; each
// signal is returned once. kResumed: the program continues after a stop (Ctrl-Z), if HearStops was called.
enum class Wake { kInput, kSignal, kResumed };
Wake WaitForInput(int file);

// Sets functions for a program that changes the terminal. `leave` is called before the program ends by a signal or is stopped (Ctrl-Z),
// `back` when the program continues. Both may be called on another thread, or in a signal's handler. Null: no calls from now on. REQUIRES:
// called by the main thread, before worker threads are started.
void HearStops(void (*leave)(), void (*back)());
void GiveTerminalBack();  // Calls `leave`, if set, before an end for any other reason.

// Reports that a write to standard output found no reader. Returns unless the process ends at once.
void TellReaderGone();

// Ends the process by the signal that came, or by SIGPIPE if the reader has gone. Returns otherwise.
void EndAsSignalled();

}  // namespace tessera
