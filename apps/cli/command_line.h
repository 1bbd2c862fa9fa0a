// Reads a program's command line into gflags: only the flags the program has, and nothing ends the process.
//
//   const AppInfo info = {.name = "tessera_tokenize", .summary = "Turns text into token ids.", .groups = {ModelFlags()}};
//   ASSIGN_OR_RETURN(CommandLine line, ParseCommandLine(info, {"--model=a.gguf", "--jsonl"}));
//   if (line.help == Help::kCommon) Print(HelpText(info));            // help.h
//
// It takes --flag=value, --flag value, --flag and --noflag for switches, and dashes for underscores. --flagfile=FILE stands for the flags
// in that file, one --flag=value per line, the value up to the line's end; the file may not name another one. --fromenv=a,b stands for the
// values of FLAGS_a and FLAGS_b in the environment, --tryfromenv for those that are set. If a flag is given twice, the last one counts.
// Every program has these three, --help (or -h), --help=all and --version. Errors are InvalidArgument with the flag: "--top_k: found ...",
// "--flagfile: FILE, line 3: --top_k: found ...". A flag that is not known is answered with what may be meant.
// Threads: before others are started.
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
  std::string name = {};                // The program's.
  std::string subcommand = {};          // Its subcommand, if this describes one: "show".
  std::string summary;                  // What the program does, a sentence or two.
  std::vector<std::string> examples;    // Command lines worth copying.
  std::vector<FlagGroup> groups;
  std::vector<std::string> plain_arguments = {};  // The flags that arguments without a flag's name set, in order.
  std::map<std::string, std::string> moved = {};  // Former subcommands, and the program that each became.
  // commands.h sets these two, for the help text and for errors that say what was meant.
  std::vector<Subcommand> subcommands = {};                        // All that the program has.
  std::map<std::string, std::vector<std::string>> elsewhere = {};  // Flags that are not here, and the subcommands that have them.

  std::string FullName() const;         // "tessera_x", or "tessera_x show".
};

// --help, --help=all, or neither.
enum class Help { kNone, kCommon, kAll };

struct CommandLine {
  Help help = Help::kNone;
  bool version = false;
  std::vector<std::string> flag_files = {};  // Those that were read.
};

// Sets the flags. `arguments` are those after the program's name.
absl::StatusOr<CommandLine> ParseCommandLine(const AppInfo& info, absl::Span<const std::string> arguments);

}  // namespace tessera
