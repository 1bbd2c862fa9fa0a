// Runs a program in a process of its own, with limits, and takes what it writes: for programs that may do anything.
//
//   ASSIGN_OR_RETURN(const ChildEnd end, RunChild({.arguments = {"/usr/bin/python3", "-c", "print(1)"}, .seconds = 10}));
//   end.output;                                        // "1\n": standard output and standard error, as they came
//
// The process leads a session and a group of its own, which is killed as a whole in the end, and dies with the thread that called. It works
// in a folder that was made for it and has no name any more, so nothing can be put there, and nothing of it can be left behind. It has
// the environment that is given here, no signals ignored or blocked, and no files but these: 0 reads `input`, 1 and 2 go to the output, and
// 3 to the verdict. Threads: any; the child does nothing between fork and execve that another thread's locks could stop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/scale/sandbox.h"

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
  enum class How { kExited, kSignalled, kTimedOut, kWroteTooMuch };
  How how = How::kExited;
  int code = 0;                  // The exit code, or the signal's number.
  std::string output = {};       // At most most_output bytes.
  std::string verdict = {};      // At most 256.
  double seconds = 0;            // Real time that it took.
};

// Errors: what the system would not give (a process, a pipe, memory), or why the program could not be started.
absl::StatusOr<ChildEnd> RunChild(const ChildOptions& options);

}  // namespace tessera
