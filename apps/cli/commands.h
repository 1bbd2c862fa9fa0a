// A program with subcommands. Each has flags, examples and a help text of its own.
//
//   std::vector<Command> CountAndShow() {                              // absl::Status Count(); absl::Status Show();
//     return {{{.name = "count", .summary = "Counts bytes.", .examples = {...}, .groups = {{"Text", {"prompt"}}}}, Count},
//             {{.name = "show", .summary = "Shows it. Nothing else.", .groups = {{"Output", {"top"}}}}, Show}};
//   }
//   int main(int argc, char** argv) { return CommandsMain(argc, argv, {.name = "tessera_x", .summary = "..."}, CountAndShow()); }
//
// The first argument names the subcommand: tessera_x show --top=7. Where a flag or nothing is in its place, the first of the list runs.
// tessera_x --help lists them, each with the first sentence of its summary. An unknown name is answered with the nearest and the list, a
// flag of another subcommand with the name of that. Everything else is as in app_main.h.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

struct Command {
  AppInfo info;                          // Its name is the subcommand's alone: "rows".
  std::function<absl::Status()> run;
};

// `program` has no flags of its own. REQUIRES: at least one command.
int CommandsMain(int argc, char** argv, const AppInfo& program, const std::vector<Command>& commands);

}  // namespace tessera
