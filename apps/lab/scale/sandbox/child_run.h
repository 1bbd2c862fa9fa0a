// Runs a program in a process of its own, with limits, and takes the program's output: for programs that may do anything.
//
//   ASSIGN_OR_RETURN(const ChildEnd end, RunChild({.arguments = {"/usr/bin/python3", "-c", "print(1)"}, .seconds = 10}));
//   end.output;                                        // "1\n": standard output and standard error, as they came
//
// The process leads a session and a group of its own, which is killed as a whole in the end, and dies with the thread that called. It works
// in a folder that was made for it and has no name any more, so nothing can be put there, and nothing of it can be left behind. It has
// the environment that is given here, no signals ignored or blocked, and no files but these: 0 reads `input`, 1 and 2 go to the output.
// RunJoined runs two such processes that talk: in each, descriptor 3 reads the bytes that the other writes to 4; and 5 of the judge alone
// goes to its verdict. Threads: any; a child does nothing between fork and execve that another thread's locks could stop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/sandbox/sandbox.h"

namespace tessera {

struct ChildOptions {
  std::vector<std::string> arguments = {};     // The first is the program's path. REQUIRES: not empty.
  std::vector<std::string> environment = {};   // NAME=VALUE.
  std::string input = {};
  double seconds = 10;                         // Real time, after which it is killed.
  int cpu_seconds = 0;                         // Time on a CPU; 0: no limit of its own.
  int64_t memory = 0;                          // Bytes of address space; 0: no limit.
  int64_t most_output = int64_t{1} << 20;      // Beyond it, it is killed.
  const Sandbox* sandbox = nullptr;            // Null: none.
};

struct ChildEnd {
  enum class How { kExited, kSignalled, kTimedOut, kWroteTooMuch, kStopped };
  How how = How::kExited;        // kStopped: the process still ran when the judge had ended.
  int code = 0;                  // The exit code, or the signal's number.
  std::string output = {};       // At most most_output bytes.
  std::string verdict = {};      // At most 256; a judge alone has one.
  double seconds = 0;            // Real time that it took.
};

struct JoinedEnd {
  ChildEnd judged = {}, judge = {};
};

// Errors: what the system would not give (a process, a pipe, memory), or why the program could not be started.
absl::StatusOr<ChildEnd> RunChild(const ChildOptions& options);

// Runs both until the judge has ended, or one of them is beyond its time or output. A judged process that has not ended a second after its
// judge is stopped. The errors of RunChild.
absl::StatusOr<JoinedEnd> RunJoined(const ChildOptions& judged, const ChildOptions& judge);

}  // namespace tessera
