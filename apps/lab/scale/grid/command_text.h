// The command line of this run, ready to be typed again: the given flags, in the order of the help text.
//
//   CommandText({.name = "tessera_x", .subcommand = "show", .groups = groups});      // "tessera_x show --top=7 --prompt='a b'"
//
// Flags count if set by the command line, a flag file or the environment. Values that a shell would split are quoted. Threads: one at a
// time.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

std::string CommandText(const AppInfo& info);

// Returns a word of a shell's command line that stands for `text`.
std::string ShellWord(absl::string_view text);

}  // namespace tessera
