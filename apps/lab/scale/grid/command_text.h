// The command line of this run, as it could be typed again: the flags that were given, in the order of the help text.
//
//   CommandText({.name = "tessera_x", .subcommand = "show", .groups = groups});      // "tessera_x show --top=7 --prompt='a b'"
//
// Flags count wherever they were set: by the command line, a flag file or the environment. Texts that a shell would take apart are quoted.
// Threads: one at a time.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

std::string CommandText(const AppInfo& info);

// A word of a shell's command line that stands for this text.
std::string ShellWord(absl::string_view text);

}  // namespace tessera
