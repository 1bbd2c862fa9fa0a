#include "tessera/apps/cli/commands.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

bool Takes(const AppInfo& info, const std::string& flag) {
  const auto has = [&](const FlagGroup& group) { return std::find(group.flags.begin(), group.flags.end(), flag) != group.flags.end(); };
  return std::any_of(info.groups.begin(), info.groups.end(), has);
}

std::map<std::string, std::vector<std::string>> Elsewhere(const std::vector<Command>& commands, const AppInfo& here) {
  std::map<std::string, std::vector<std::string>> elsewhere;
  for (const Command& command : commands) {
    for (const FlagGroup& group : command.info.groups) {
      for (const std::string& flag : group.flags) {
        if (!Takes(here, flag)) elsewhere[flag].push_back(command.info.subcommand);
      }
    }
  }
  return elsewhere;
}

bool Has(const Command& command, const std::string& name) {
  return command.info.subcommand == name || std::find(command.former.begin(), command.former.end(), name) != command.former.end();
}

std::vector<std::string> NamesOf(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.info.subcommand);
  return names;
}

// Returns whether a program's first argument is nearly a subcommand, and no file.
bool IsMistyped(const std::string& argument, const std::vector<Command>& commands) {
  return access(argument.c_str(), F_OK) != 0 && !NearestName(argument, NamesOf(commands)).empty();
}

absl::Status NoSuchCommand(const AppInfo& program, const std::string& found, const std::string& name,
                           const std::vector<Command>& commands) {
  const auto moved = program.moved.find(name);
  if (moved != program.moved.end()) return WrongUsage("subcommand", found, absl::StrCat("the program ", moved->second, " of its own"));
  const std::vector<std::string> names = NamesOf(commands);
  const std::string meant = NearestName(name, names);
  return WrongUsage("subcommand", found,
                    absl::StrCat("one of ", absl::StrJoin(names, ", "), meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

}  // namespace

int CommandsMain(int argc, char** argv, const AppInfo& program, const std::vector<Command>& commands,
                 const std::function<absl::Status()>& run) {
  const bool named = argc > 1 && argv[1][0] != '-';
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [&](const Command& command) { return named && Has(command, argv[1]); });
  if (chosen != commands.end() && chosen->info.subcommand != argv[1]) {
    WriteError(absl::StrCat(program.name, ": the subcommand ", argv[1], " is ", chosen->info.subcommand, " now\n"));
  }
  AppInfo info = chosen == commands.end() ? program : chosen->info;
  info.name = program.name;
  info.elsewhere = Elsewhere(commands, info);
  for (const Command& command : commands) info.subcommands.push_back({command.info.subcommand, command.info.summary});
  if (chosen != commands.end()) return AppMain(argc - 1, argv + 1, info, chosen->run);
  if (run != nullptr && !(named && IsMistyped(argv[1], commands))) return AppMain(argc, argv, info, run);
  if (named) return AppMain(1, argv, info, [&] { return NoSuchCommand(program, Quoted(argv[1]), argv[1], commands); });
  return AppMain(argc, argv, info, [&] { return NoSuchCommand(program, "none", "", commands); });
}

}  // namespace tessera
