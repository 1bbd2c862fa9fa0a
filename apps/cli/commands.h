// A program with subcommands. Each subcommand has flags, examples and a help text of its own.
//
//   std::vector<Command> CountAndShow() {                              // absl::Status Count(); absl::Status Show();
//     return {{{.subcommand = "count", .summary = "Counts bytes.", .groups = {{"Text", {"prompt"}}}}, Count},
//             {{.subcommand = "show", .summary = "Shows it. Nothing else.", .groups = {{"Output", {"top"}}}}, Show}};
//   }
//   int main(int argc, char** argv) { return CommandsMain(argc, argv, {.name = "tessera_x", .summary = "..."}, CountAndShow()); }
//
// The first argument names the subcommand: tessera_x show --top=7. tessera_x --help lists the subcommands, each with the first sentence of
// the summary. The error for a missing or unknown name lists the subcommands and suggests the nearest one. The error for a flag of another
// subcommand names that subcommand. A program that does something without a subcommand, too, gives `run`; a first argument that is a
// file, or not nearly a subcommand, is then the program's own. All else is as in app_main.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

struct Command {
  AppInfo info;                          // `name` is empty: the program's name is used.
  std::function<absl::Status()> run;
  std::vector<std::string> former = {};  // Former names, which still work; standard error tells the new name.
};

// Runs the subcommand that the first argument names. Without `run`, the flags of `program` serve --help and --version alone.
int CommandsMain(int argc, char** argv, const AppInfo& program, const std::vector<Command>& commands,
                 const std::function<absl::Status()>& run = nullptr);

}  // namespace tessera
