// A program with subcommands. Each has flags, examples and a help text of its own.
//
//   std::vector<Command> CountAndShow() {                              // absl::Status Count(); absl::Status Show();
//     return {{{.subcommand = "count", .summary = "Counts bytes.", .groups = {{"Text", {"prompt"}}}}, Count},
//             {{.subcommand = "show", .summary = "Shows it. Nothing else.", .groups = {{"Output", {"top"}}}}, Show}};
//   }
//   int main(int argc, char** argv) { return CommandsMain(argc, argv, {.name = "tessera_x", .summary = "..."}, CountAndShow()); }
//
// The first argument names the subcommand: tessera_x show --top=7. tessera_x --help lists them, each with the first sentence of its
// summary. A name that is missing or unknown is answered with the list and the nearest, a flag of another subcommand with the name of
// that. A program that does something without a subcommand, too, gives `run`; a first argument that names no subcommand is then the
// program's own. Everything else is as in app_main.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

struct Command {
  AppInfo info;                          // Without a name, which is the program's.
  std::function<absl::Status()> run;
  std::vector<std::string> former = {};  // Former names, which work as well; standard error says what the name is now.
};

// Runs the subcommand that the first argument names. Without `run` the flags of `program` are for its --help and --version alone.
int CommandsMain(int argc, char** argv, const AppInfo& program, const std::vector<Command>& commands,
                 const std::function<absl::Status()>& run = nullptr);

}  // namespace tessera
