#include "tessera/apps/common/app_main.h"

#include <csignal>
#include <new>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/common/interrupt.h"
#include "tessera/apps/common/output.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpu_features.h"

// Set by the build for this file alone, so that a commit does not compile everything again.
#ifndef TESSERA_VERSION
#define TESSERA_VERSION "0"
#endif
#ifndef TESSERA_COMMIT
#define TESSERA_COMMIT "unknown"
#endif

namespace tessera {
namespace {

constexpr int kOk = 0, kFailed = 1, kWrongUsage = 2;

const int64_t start_ns = RealClock().NowNanos();  // Before main.

int ExitCode(const AppInfo& info, const absl::Status& status) {
  if (status.ok()) return kOk;
  if (absl::IsCancelled(status)) return SignalExitCode();
  const bool wrong_usage = absl::StartsWith(status.message(), "--");
  WriteError(absl::StrCat(info.name, ": ", status.message(), "\n"));
  if (wrong_usage) WriteError(absl::StrCat("Try ", info.name, " --help.\n"));
  return wrong_usage ? kWrongUsage : kFailed;
}

int RunGuarded(const AppInfo& info, const std::function<absl::Status()>& run) {
  try {  // Our own code throws nothing; the standard library does where memory ends.
    return ExitCode(info, run());
  } catch (const std::bad_alloc&) {
    WriteError(absl::StrCat(info.name, ": out of memory\n"));
  } catch (const std::exception& exception) {
    WriteError(absl::StrCat(info.name, ": ", exception.what(), "\n"));
  }
  return kFailed;
}

}  // namespace

int AppMain(int argc, char** argv, const AppInfo& info, const std::function<absl::Status()>& run) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(info.name.c_str());
  std::signal(SIGPIPE, SIG_IGN);  // A closed standard output is seen where it is written.
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const absl::StatusOr<CommandLine> line = ParseCommandLine(info, arguments);
  if (!line.ok()) {
    WriteError(absl::StrCat(info.name, ": ", line.status().message(), "\nTry ", info.name, " --help.\n"));
    return kWrongUsage;
  }
  if (line->help) return RunGuarded(info, [&] { return WriteOutput(HelpText(info)); });
  if (line->version) return RunGuarded(info, [&] { return WriteOutput(VersionText(info.name)); });
  return RunGuarded(info, run);
}

absl::Status ForFlag(absl::string_view flag, const absl::Status& status) {
  if (status.ok() || absl::StartsWith(status.message(), "--")) return status;
  return absl::Status(status.code(), absl::StrCat("--", flag, ": ", status.message()));
}

double SecondsSinceStart() { return static_cast<double>(RealClock().NowNanos() - start_ns) * 1e-9; }

std::string VersionText(absl::string_view program) {
  std::string text = absl::StrCat(program, " ", TESSERA_VERSION, " (commit ", TESSERA_COMMIT, ")\nkernels:");
  for (KernelPath path : SupportedKernelPaths()) absl::StrAppend(&text, " ", KernelPathName(path));
  return absl::StrCat(text, "; auto is ", KernelPathName(BestKernelPath()), "\n");
}

}  // namespace tessera
