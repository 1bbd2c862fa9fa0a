#include "tessera/apps/cli/app_main.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <glog/logging.h>
#include <unistd.h>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/help.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/version.h"
#include "tessera/base/clock.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kOk = 0, kFailed = 1, kWrongUsage = 2;

const int64_t start_ns = RealClock().NowNanos();  // Before main.

// An error may quote a file or a flag: no control character of theirs reaches the terminal.
std::string Printable(absl::string_view message) {
  std::string printable;
  for (const char c : message) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    if (control && c != '\n') absl::StrAppendFormat(&printable, "\\x%02x", static_cast<unsigned char>(c));
    else printable += c;
  }
  return printable;
}

int Failure(const AppInfo& info, absl::string_view message, int code) {
  WriteError(absl::StrCat(info.name, ": ", Printable(message), "\n"));
  if (code == kWrongUsage) WriteError(absl::StrCat("Try ", info.name, " --help.\n"));
  return code;
}

int ExitCode(const AppInfo& info, const absl::Status& status) {
  if (status.ok()) return kOk;
  if (absl::IsCancelled(status)) EndAsSignalled();
  return Failure(info, ShownMessage(status), IsWrongUsage(status) ? kWrongUsage : kFailed);
}

int RunGuarded(const AppInfo& info, const std::function<absl::Status()>& run) {
  try {  // Our own code throws nothing; the standard library does where memory ends.
    return ExitCode(info, run());
  } catch (const std::bad_alloc&) {
    return Failure(info, "out of memory", kFailed);
  } catch (const std::exception& exception) {
    return Failure(info, exception.what(), kFailed);
  }
}

// A file that is opened must not get the number of a closed standard one. What is put in its place fails as the closed one would:
// it cannot be read for standard input, and not be written for the others.
void OccupyStandardFiles() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // Takes the lowest free number.
  }
}

// The arguments after the program's name.
std::vector<std::string> Begin(int argc, char** argv, const AppInfo& info) {
  OccupyStandardFiles();
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, google::GLOG_WARNING);  // What is no trouble, summaries tell.
  google::InitGoogleLogging(info.name.c_str());
  return std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc);
}

int RunWith(const AppInfo& info, absl::Span<const std::string> arguments, const std::function<absl::Status()>& run) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(info, arguments);
  if (!line.ok()) return Failure(info, line.status().message(), kWrongUsage);
  EndOnSignals();
  if (line->help) return RunGuarded(info, [&] { return WriteOutput(FLAGS_json ? HelpJson(info) : HelpText(info)); });
  if (line->version) return RunGuarded(info, [&] { return ShowVersion(info.name); });
  return RunGuarded(info, run);
}

// "PROGRAM NAME, NAME" of the subcommands that take a flag; empty: none does.
std::string OwnersOf(const std::string& flag, const std::string& program, const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> owners;
  for (const Subcommand& subcommand : subcommands) {
    const auto takes = [&](const FlagGroup& group) { return absl::c_linear_search(group.flags, flag); };
    if (absl::c_any_of(subcommand.info.groups, takes)) owners.push_back(subcommand.info.name);
  }
  return owners.empty() ? "" : absl::StrCat(program, " ", absl::StrJoin(owners, ", "));
}

std::string NoSubcommand(const std::vector<Subcommand>& subcommands) {
  std::string message = "found none, expected one of these:\n";
  for (const Subcommand& subcommand : subcommands) absl::StrAppend(&message, SubcommandLine(subcommand.info));
  message.pop_back();  // The last line break.
  return message;
}

std::string UnknownSubcommand(const std::string& name, const std::vector<Subcommand>& subcommands) {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommands) names.push_back(subcommand.info.name);
  const std::string meant = NearestName(name.substr(0, 64), names);
  return absl::StrCat("found the subcommand ", Quoted(name), ", expected one of ", absl::StrJoin(names, ", "),
                      meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?"));
}

}  // namespace

int AppMain(int argc, char** argv, const AppInfo& info, const std::function<absl::Status()>& run) {
  return RunWith(info, Begin(argc, argv, info), run);
}

int AppMain(int argc, char** argv, const AppInfo& info, const std::vector<Subcommand>& subcommands) {
  const std::vector<std::string> arguments = Begin(argc, argv, info);
  const auto owners = [&](const std::string& flag) { return OwnersOf(flag, info.name, subcommands); };
  if (arguments.empty() || absl::StartsWith(arguments[0], "-")) {
    AppInfo all = info;
    all.groups = {{"Output", {"json"}}};
    all.owners_of_flag = owners;
    for (const Subcommand& subcommand : subcommands) all.subcommands.push_back(subcommand.info);
    return RunWith(all, arguments, [&] { return ForField("subcommand", absl::InvalidArgumentError(NoSubcommand(subcommands))); });
  }
  for (const Subcommand& subcommand : subcommands) {
    if (subcommand.info.name != arguments[0]) continue;
    AppInfo own = subcommand.info;
    own.name = absl::StrCat(info.name, " ", own.name);
    own.owners_of_flag = owners;
    return RunWith(own, absl::MakeConstSpan(arguments).subspan(1), subcommand.run);
  }
  return Failure(info, UnknownSubcommand(arguments[0], subcommands), kWrongUsage);
}

int64_t StartNanos() { return start_ns; }

double SecondsSinceStart() { return static_cast<double>(RealClock().NowNanos() - start_ns) * 1e-9; }

}  // namespace tessera
