#include "tessera/apps/cli/commands.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

std::string InQuotes(const AppInfo& program, const Command& command) {
  return absl::StrCat("\"", program.name, " ", command.info.name, "\"");
}

bool Takes(const Command& command, const std::string& flag) {
  const auto has = [&](const FlagGroup& group) { return std::find(group.flags.begin(), group.flags.end(), flag) != group.flags.end(); };
  return std::any_of(command.info.groups.begin(), command.info.groups.end(), has);
}

// The flags that only others take, and the others' names.
std::map<std::string, std::string> Elsewhere(const AppInfo& program, const std::vector<Command>& commands, const Command& chosen) {
  std::map<std::string, std::string> elsewhere;
  for (const Command& command : commands) {
    for (const FlagGroup& group : command.info.groups) {
      for (const std::string& flag : group.flags) {
        if (Takes(chosen, flag)) continue;
        std::string& where = elsewhere[flag];
        absl::StrAppend(&where, where.empty() ? "in " : ", ", InQuotes(program, command));
      }
    }
  }
  for (const Command& command : commands) {
    if (&command == &chosen || Takes(chosen, command.info.name)) continue;
    elsewhere.emplace(command.info.name, absl::StrCat("the subcommand ", InQuotes(program, command)));
  }
  return elsewhere;
}

absl::Status UnknownCommand(const std::string& name, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.info.name);
  const std::string meant = NearestName(name, names);
  return WrongUsage("subcommand", Quoted(name),
                    absl::StrCat("one of ", absl::StrJoin(names, ", "), meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

}  // namespace

int CommandsMain(int argc, char** argv, const AppInfo& program, const std::vector<Command>& commands) {
  const bool named = argc > 1 && argv[1][0] != '-';
  const auto chosen =
      named ? std::find_if(commands.begin(), commands.end(), [&](const Command& command) { return command.info.name == argv[1]; })
            : commands.begin();
  if (chosen == commands.end()) return AppMain(1, argv, program, [&] { return UnknownCommand(argv[1], commands); });
  AppInfo info = named ? chosen->info : program;
  info.elsewhere = Elsewhere(program, commands, *chosen);
  if (named) {
    info.name = absl::StrCat(program.name, " ", chosen->info.name);
    return AppMain(argc - 1, argv + 1, info, chosen->run);
  }
  info.groups = chosen->info.groups;
  info.plain_arguments = chosen->info.plain_arguments;
  for (const Command& command : commands) info.subcommands.push_back({command.info.name, command.info.summary});
  return AppMain(argc, argv, info, chosen->run);
}

}  // namespace tessera
