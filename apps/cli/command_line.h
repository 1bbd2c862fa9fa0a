// Reads a program's command line into gflags. Only the program's flags are accepted, and no error ends the process.
//
//   const AppInfo info = {.name = "tessera_tokenize", .summary = "Turns text into token ids.", .groups = {ModelFlags()}};
//   ASSIGN_OR_RETURN(CommandLine line, ParseCommandLine(info, {"--model=a.gguf", "--jsonl"}));
//   if (line.help == Help::kCommon) Print(HelpText(info));            // help.h
//
// The parser takes --flag=value, --flag value, --flag and --noflag for switches, and dashes for underscores. --flagfile=FILE stands for the
// flags in FILE, one --flag=value per line. A value goes up to the line's end. FILE may not name another flag file. --fromenv=a,b stands
// for the values of FLAGS_a and FLAGS_b in the environment; --tryfromenv does the same, and skips variables that are not set. If a flag is
// given twice, the last value counts. Every program has --flagfile, --fromenv, --tryfromenv, --help (or -h), --help=all and --version.
// Errors are InvalidArgument with the flag: "--top_k: found ...", "--flagfile: FILE, line 3: --top_k: found ...". The error for an unknown
// flag suggests the flag that may be meant. Threads: call before other threads are started.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/cli/flags/flags.h"

namespace tessera {

struct Subcommand {
  std::string name;
  std::string summary;
};

struct AppInfo {
  std::string name = {};                // The program's name.
  std::string subcommand = {};          // The subcommand's name, such as "show"; empty: a program.
  std::string summary;                  // The program's effect, in a sentence or two.
  std::vector<std::string> examples;    // Command lines worth copying.
  std::vector<FlagGroup> groups;
  std::vector<std::string> plain_arguments = {};  // The flags that arguments without a flag's name set, in order.
  std::map<std::string, std::string> moved = {};  // Former subcommands, and the program that each became.
  // commands.h sets `subcommands` and `elsewhere`, for the help text and for errors that suggest a name.
  std::vector<Subcommand> subcommands = {};                        // All of the program's subcommands.
  std::map<std::string, std::vector<std::string>> elsewhere = {};  // Flags that are not here, and the subcommands that have them.

  std::string FullName() const;         // "tessera_x", or "tessera_x show".
};

// --help, --help=all, or neither.
enum class Help { kNone, kCommon, kAll };

struct CommandLine {
  Help help = Help::kNone;
  bool version = false;
  std::vector<std::string> flag_files = {};  // The files that were read.
};

// Sets the flags. `arguments`: the arguments after the program's name.
absl::StatusOr<CommandLine> ParseCommandLine(const AppInfo& info, absl::Span<const std::string> arguments);

}  // namespace tessera
