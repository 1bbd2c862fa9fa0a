#include "tessera/apps/cli/app_main.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <glog/logging.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/flags/path_flags.h"
#include "tessera/apps/cli/help.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/library_messages.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/version.h"
#include "tessera/base/clock.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kOk = 0, kFailed = 1, kWrongUsage = 2;

const int64_t start_ns = RealClock().NowNanos();  // Before main.

int Failure(const AppInfo& info, absl::string_view message, int code) {
  WriteMessage(absl::StrCat(info.FullName(), ": ", message, "\n"));
  if (code == kWrongUsage) WriteError(absl::StrCat("Try ", info.FullName(), " --help.\n"));
  return code;
}

int ExitCode(const AppInfo& info, const absl::Status& status) {
  if (status.ok()) return kOk;
  if (absl::IsCancelled(status)) EndAsSignalled();
  return Failure(info, ShownMessage(status), IsWrongUsage(status) ? kWrongUsage : kFailed);
}

std::string HelpOf(const AppInfo& info, Help help) {
  if (FLAGS_json) return HelpJson(info);
  return help == Help::kAll ? FullHelpText(info) : HelpText(info);
}

int RunGuarded(const AppInfo& info, const std::function<absl::Status()>& run) {
  try {  // Our own code throws nothing; the standard library throws when memory ends.
    const absl::Status status = run();
    return ExitCode(info, status.ok() ? FinishOutput() : status);
  } catch (const std::bad_alloc&) {
    return Failure(info, "out of memory", kFailed);
  } catch (const std::exception& exception) {
    return Failure(info, exception.what(), kFailed);
  }
}

// Ends the process after an exception that nothing catches, as an error of the main thread would. The usual cause is a lack of memory on
// another thread than the main one. Composes no text, since there may be no memory.
[[noreturn]] void EndForException() {
  const char *const name = program_invocation_short_name, *problem = "an exception that nothing caught";
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    problem = "out of memory";
  } catch (const std::exception& exception) {
    problem = exception.what();
  } catch (...) {
  }
  for (const char* part : {name, ": ", problem, "\n"}) WriteError(part);
  GiveTerminalBack();
  RemoveTemporaryFiles();
  _exit(kFailed);
}

// Replaces closed standard streams, so that no opened file gets the number of one. The replacement fails as the closed stream would:
// standard input cannot be read, the others cannot be written.
void OccupyStandardFiles() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // Takes the lowest free number.
  }
}

}  // namespace

int AppMain(int argc, char** argv, const AppInfo& info, const std::function<absl::Status()>& run) {
  OccupyStandardFiles();
  std::set_terminate(EndForException);
  std::signal(SIGPIPE, SIG_IGN);  // Before the first message: the exit code is the same without a reader.
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, google::GLOG_WARNING);  // Summaries tell all that is no trouble.
  ShowLibraryMessages(info.FullName());
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const absl::StatusOr<CommandLine> line = ParseCommandLine(info, arguments);
  if (!line.ok()) return Failure(info, line.status().message(), kWrongUsage);
  EndOnSignals(WhenReaderGoes(info));
  if (line->help != Help::kNone) return RunGuarded(info, [&] { return WriteOutput(HelpOf(info, line->help)); });
  if (line->version) return RunGuarded(info, [&] { return ShowVersion(info.name); });
  return RunGuarded(info, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckFilesDiffer(info, line->flag_files));
    return run();
  });
}

int64_t StartNanos() { return start_ns; }

double SecondsSinceStart() { return static_cast<double>(RealClock().NowNanos() - start_ns) * 1e-9; }

}  // namespace tessera
