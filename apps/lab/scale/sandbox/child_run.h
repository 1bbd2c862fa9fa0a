// Runs an untrusted program in a child process, with limits, and collects the program's output.
//
//   ASSIGN_OR_RETURN(const ChildEnd end, RunChild({.arguments = {"/usr/bin/python3", "-c", "print(1)"}, .seconds = 10}));
//   end.output;                                        // "1\n": standard output and standard error, as they came
//
// The process leads a session and a process group of its own. The group is killed as a whole in the end, and the process dies with the
// calling thread. The working directory is a new folder without a name, so nothing can be put there and nothing is left behind. The process
// has the given environment and no signals ignored or blocked. The only open files are 0, which reads `input`, and 1 and 2, which go to the
// output.
//
// RunJoined runs two such processes that talk: in each, descriptor 3 reads the bytes that the other process writes to 4. Descriptor 5, in
// the judge alone, takes the judge's verdict.
//
// Threads: any. Between fork and execve a child does nothing that another thread's locks could stop.
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
  double seconds = 10;                         // Real time until the process is killed.
  int cpu_seconds = 0;                         // Time on a CPU; 0: no separate limit.
  int64_t memory = 0;                          // Bytes of address space; 0: no limit.
  int64_t most_output = int64_t{1} << 20;      // With more output the process is killed.
  const Sandbox* sandbox = nullptr;            // Null: none.
};

struct ChildEnd {
  enum class How { kExited, kSignalled, kTimedOut, kWroteTooMuch, kStopped };
  How how = How::kExited;        // kStopped: the process still ran after the judge had ended.
  int code = 0;                  // The exit code, or the signal's number.
  std::string output = {};       // At most most_output bytes.
  std::string verdict = {};      // At most 256 bytes; only a judge has a verdict.
  double seconds = 0;            // Real time of the run.
};

struct JoinedEnd {
  ChildEnd judged = {}, judge = {};
};

// Runs the program to the end. Returns an error if the system refused a resource (a process, a pipe, memory), or if the program could not
// be started.
absl::StatusOr<ChildEnd> RunChild(const ChildOptions& options);

// Runs both until the judge has ended, or until one process exceeds the limit of time or output. Stops a judged process that has not ended
// one second after the judge. Returns the errors of RunChild.
absl::StatusOr<JoinedEnd> RunJoined(const ChildOptions& judged, const ChildOptions& judge);

}  // namespace tessera
