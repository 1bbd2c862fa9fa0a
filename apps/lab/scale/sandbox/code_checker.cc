#include "tessera/apps/lab/scale/sandbox/code_checker.h"

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/apps/lab/scale/sandbox/child_run.h"
#include "tessera/apps/lab/scale/sandbox/code_sides.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr absl::string_view kPassed = "passed", kEnded = "ended", kFailed = "failed ";   // Beginnings of a judge's verdict.
constexpr size_t kMostMessage = 200;

// Returns the command line of an interpreter without packages of the machine or the user (-S, -s), which writes no files next to sources
// (-B).
std::vector<std::string> Python(const std::string& interpreter, std::string code) {
  return {interpreter, "-s", "-S", "-B", "-c", std::move(code)};
}

// Prints the interpreter's standard library, and all mapped files.
constexpr char kWhereItLies[] = R"(import os
print("folder", os.path.dirname(os.path.realpath(os.__file__)))
for line in open("/proc/self/maps"):
    path = line.rstrip("\n").split(maxsplit=5)[5:]
    if path and path[0].startswith("/"):
        print("file", path[0])
)";

std::vector<std::string> Environment() { return {"LC_ALL=C.UTF-8", "PYTHONHASHSEED=0"}; }

// Returns the interpreter's files and folders. Folders of shared libraries may be read as a whole, since modules of the standard library
// load more libraries.
absl::StatusOr<SandboxOptions> WhereItLies(const CodeLimits& limits) {
  const ChildOptions options = {.arguments = Python(limits.interpreter, kWhereItLies), .environment = Environment(),
                                .seconds = limits.seconds};
  ASSIGN_OR_RETURN(const ChildEnd end, RunChild(options));
  SandboxOptions found = {.folders = limits.readable, .programs = {"/etc/ld.so.cache"}};
  const size_t readable = found.folders.size();
  for (absl::string_view line : absl::StrSplit(end.output, '\n')) {
    if (absl::ConsumePrefix(&line, "folder ")) found.folders.emplace_back(line);
    if (!absl::ConsumePrefix(&line, "file ")) continue;
    found.programs.emplace_back(line);
    if (absl::StrContains(line, ".so")) found.folders.emplace_back(line.substr(0, line.rfind('/')));
  }
  if (end.how == ChildEnd::How::kExited && end.code == 0 && found.folders.size() > readable) return found;
  return absl::FailedPreconditionError(
      absl::StrCat(limits.interpreter, ": found a program that says ", Quoted(end.output), ", expected python3"));
}

std::string LastLine(absl::string_view output) {
  output = absl::StripTrailingAsciiWhitespace(output);
  const size_t line = output.rfind('\n');
  std::string shown = Printable(output.substr(line == absl::string_view::npos ? 0 : line + 1).substr(0, kMostMessage));
  size_t size = std::min<size_t>(shown.size(), kMostMessage);   // Escaped bytes take four.
  while (size > 0 && size < shown.size() && (static_cast<unsigned char>(shown[size]) & 0xC0) == 0x80) --size;
  shown.resize(size);
  return shown;
}

// Returns the limit that ended a process; nullopt if the process ended by itself, or was stopped after the judge's end.
std::optional<CodeOutcome> BeyondLimits(const ChildEnd& end) {
  switch (end.how) {
    case ChildEnd::How::kTimedOut: return CodeOutcome::kTimedOut;
    case ChildEnd::How::kWroteTooMuch: return CodeOutcome::kWroteTooMuch;
    case ChildEnd::How::kSignalled: return end.code == SIGXCPU ? CodeOutcome::kTimedOut : CodeOutcome::kKilled;
    case ChildEnd::How::kExited: case ChildEnd::How::kStopped: break;
  }
  return std::nullopt;
}

// Returns the outcome. A program that wrote too much before the tests were done has not passed. The cause of a program's end after the
// tests does not count.
CodeOutcome OutcomeOf(const JoinedEnd& end) {
  const bool passed = end.judge.how == ChildEnd::How::kExited && end.judge.code == 0 && end.judge.verdict == kPassed;
  if (passed && end.judged.how != ChildEnd::How::kWroteTooMuch) return CodeOutcome::kPassed;
  const bool decided = absl::StartsWith(end.judge.verdict, kFailed);
  if (decided && end.judged.how != ChildEnd::How::kWroteTooMuch) return CodeOutcome::kFailed;
  for (const ChildEnd* one : {&end.judged, &end.judge}) {
    if (const std::optional<CodeOutcome> outcome = BeyondLimits(*one)) return *outcome;
  }
  return CodeOutcome::kFailed;
}

std::string MessageOf(const JoinedEnd& end, CodeOutcome outcome) {
  if (outcome == CodeOutcome::kPassed) return "";
  if (outcome == CodeOutcome::kKilled) {
    const ChildEnd& killed = end.judged.how == ChildEnd::How::kSignalled ? end.judged : end.judge;
    return absl::StrCat("signal ", killed.code);
  }
  if (outcome != CodeOutcome::kFailed) return std::string(CodeOutcomeName(outcome));
  absl::string_view verdict = end.judge.verdict;
  if (absl::ConsumePrefix(&verdict, kFailed)) return LastLine(verdict);
  if (verdict != kEnded) return absl::StrCat("its tests said no verdict: ", LastLine(end.judge.output));
  std::string line = LastLine(end.judged.output);
  if (!line.empty()) return line;
  if (end.judged.how == ChildEnd::How::kStopped) return "it closed its files before its tests ended";
  return absl::StrCat("it ended before its tests did, with exit code ", end.judged.code);
}

std::string JobOf(const CodeTrial& trial) {
  JsonWriter json;
  json.BeginObject().Key("before").String(trial.before).Key("tests").String(trial.tests).Key("tested").BeginArray();
  for (const std::string& name : trial.tested) json.String(name);
  json.EndArray().EndObject();
  return std::move(json).Take();
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

ChildOptions CodeChecker::Child(const char* side, std::string input) const {
  return {.arguments = Python(limits_.interpreter, absl::StrCat(kBothSides, side)),
          .environment = Environment(),
          .input = std::move(input),
          .seconds = limits_.seconds,
          .cpu_seconds = limits_.cpu_seconds,
          .memory = limits_.memory,
          .most_output = limits_.output,
          .sandbox = &sandbox_};
}

absl::StatusOr<CodeResult> CodeChecker::Check(const CodeTrial& trial) const {
  ASSIGN_OR_RETURN(const JoinedEnd end, RunJoined(Child(kProgramSide, trial.program), Child(kTestsSide, JobOf(trial))));
  const CodeOutcome outcome = OutcomeOf(end);
  return CodeResult{.outcome = outcome, .message = MessageOf(end, outcome), .seconds = end.judge.seconds};
}

}  // namespace tessera
