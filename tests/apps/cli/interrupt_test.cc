#include "tessera/apps/cli/interrupt.h"

#include <csignal>
#include <functional>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

// Signals go to a process, so each test has a process of its own. Its exit code, or 128 + the signal that ended it.
int CodeOf(const std::function<int()>& body, ReaderGone reader = ReaderGone::kEndsAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    EndOnSignals(reader);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Sends this process a signal, and waits until it has been heard.
void Send(int signal) {
  kill(getpid(), signal);
  if (!Await([] { return CancelRequested().load(); })) _exit(99);
}

// Sends one that must end this process, for which the alarm leaves it time enough.
int SendLast(int signal) {
  kill(getpid(), signal);
  pause();
  return -1;
}

// Standard input on which nothing ever comes.
int SilentInput() {
  int ends[2];
  return pipe(ends) == 0 ? ends[0] : -1;
}

TEST(Interrupt, EndsTheProcessUntilCaught) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(CodeOf([&] { return SendLast(signal); }), 128 + signal);
  }
}

TEST(Interrupt, TheFirstAsksAndTheSecondEnds) {
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsAnswer);
    Send(SIGINT);
    if (!CancelRequested() || TerminationRequested()) return 1;
    ForgetInterrupt();
    if (CancelRequested()) return 2;
    Send(SIGINT);
    return SendLast(SIGINT);
  }), 128 + SIGINT);
}

// Between an answer and the read of the next message nothing is waiting that the signal could interrupt.
TEST(Interrupt, OneBeforeTheWaitIsNotLost) {
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsAnswer);
    ForgetInterrupt();
    Send(SIGINT);
    return WaitForInput(SilentInput()) == Wake::kSignal ? 0 : 1;
  }), 0);
}

TEST(Interrupt, TheWaitTellsOfASignalOnce) {
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsAnswer);
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1) return 1;
    Send(SIGINT);
    if (WaitForInput(ends[0]) != Wake::kSignal) return 2;
    return WaitForInput(ends[0]) == Wake::kInput ? 0 : 3;
  }), 0);
}

TEST(Interrupt, AnInterruptEndsTheProgramUntilCtrlCIsSetToEndTheAnswer) {
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsProgram);
    CatchSignals(CtrlC::kEndsAnswer);
    Send(SIGINT);
    if (TerminationRequested() || WaitForInput(SilentInput()) != Wake::kSignal) return 1;
    ForgetInterrupt();
    return CancelRequested() ? 2 : 7;
  }), 7);
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsProgram);
    Send(SIGINT);
    CatchSignals(CtrlC::kEndsAnswer);
    if (!TerminationRequested()) return 1;
    EndAsSignalled();
    return 2;
  }), 128 + SIGINT) << "the one before was for the program";
}

TEST(Interrupt, AProgramThatDoesNotEndInOrderIsEnded) {
  for (int signal : {SIGINT, SIGTERM}) {
    EXPECT_EQ(CodeOf([&] {
      CatchSignals(signal == SIGINT ? CtrlC::kEndsProgram : CtrlC::kEndsAnswer);
      Send(signal);
      if (!CancelRequested() || !TerminationRequested()) return 1;
      while (true) pause();
    }), 128 + signal);
  }
}

// vfork stands for a long system call that no handler of a signal interrupts: it returns when the child ends.
TEST(Interrupt, IsHeardWhileTheThreadThatWorksIsInASystemCall) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  EXPECT_EQ(CodeOf([&] {
    const pid_t parent = getpid();
    if (vfork() == 0) {
      kill(parent, SIGTERM);
      Await([&] { return getppid() != parent; }, std::chrono::seconds(10));   // Less than CodeOf gives the parent.
      _exit(write(told[1], getppid() == parent ? "late" : "soon", 4) == 4 ? 0 : 1);
    }
    return pause();
  }), 128 + SIGTERM);
  char when[5] = {};
  ASSERT_EQ(read(told[0], when, 4), 4);
  EXPECT_STREQ(when, "soon");
}

TEST(Interrupt, AReaderThatHasGoneEndsTheProcessAtOnceOrAfterItsWork) {
  const auto work = [] {
    TellReaderGone();  // As WriteOutput does.
    if (TerminationRequested() || CancelRequested()) return 1;
    EndAsSignalled();
    return 2;
  };
  EXPECT_EQ(CodeOf([] { TellReaderGone(); return 1; }, ReaderGone::kEndsAtOnce), 128 + SIGPIPE);
  EXPECT_EQ(CodeOf(work, ReaderGone::kEndsInOrder), 128 + SIGPIPE) << "by EndAsSignalled";
}

// Whether a thread of this process waits for signals with a limit of time, once all that wait for something do.
bool WaitsForSignalsWithALimit() {
  if (!Await(OthersAreAsleep)) _exit(98);
  for (const pid_t thread : ThreadsOf(getpid())) {
    const std::vector<uint64_t> call = SystemCallOf(thread);
    if (call.size() > 3 && call[0] == SYS_rt_sigtimedwait && call[3] != 0) return true;   // The set, what came, the limit.
  }
  return false;
}

TEST(Interrupt, ASignalSetsALimitOfTime) {
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsAnswer);
    Send(SIGINT);
    if (WaitsForSignalsWithALimit()) return 1;
    ForgetInterrupt();
    Send(SIGTERM);   // From here on the process has kGraceMillis.
    if (!WaitsForSignalsWithALimit()) return 2;
    while (true) pause();
  }), 128 + SIGTERM);
}

TEST(Interrupt, AReaderThatHasGoneEndsAnAnswerInOrderWithoutALimitOfTime) {
  for (const bool before : {false, true}) {
    EXPECT_EQ(CodeOf([&] {
      if (before) TellReaderGone();
      CatchSignals(CtrlC::kEndsProgram);
      if (!before) TellReaderGone();
      if (!CancelRequested() || !TerminationRequested() || WaitForInput(SilentInput()) != Wake::kSignal) return 1;
      return WaitsForSignalsWithALimit() ? 2 : 7;
    }, ReaderGone::kEndsInOrder), 7);
  }
}

TEST(Interrupt, TheProgramEndsByTheSignalThatAskedForTheEnd) {
  EXPECT_EQ(CodeOf([] {
    CatchSignals(CtrlC::kEndsProgram);
    Send(SIGTERM);
    EndAsSignalled();
    return 1;
  }), 128 + SIGTERM);
  EXPECT_EQ(CodeOf([] {
    EndAsSignalled();
    return 7;
  }), 7) << "no signal came";
}

}  // namespace
}  // namespace tessera
