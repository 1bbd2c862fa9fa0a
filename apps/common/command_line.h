// Reads a program's command line into gflags and writes its help: only the flags the program has, and nothing ends the process.
//
//   const AppInfo info = {.name = "tessera_tokenize", .summary = "Turns text into token ids.", .groups = {ModelFlags()}};
//   ASSIGN_OR_RETURN(CommandLine line, ParseCommandLine(info, {"--model=a.gguf", "--jsonl"}));
//   if (line.help) Print(HelpText(info));
//
// Taken are --flag=value, --flag value, --flag and --noflag for switches, dashes for underlines, and --flagfile=FILE with one flag a
// line. Every program has --help and --version. Errors are InvalidArgument that begin with the flag: "--top_k: found ...".
// Threads: before others are started.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/common/flags.h"

namespace tessera {

struct AppInfo {
  std::string name;
  std::string summary;                  // What the program does, a sentence or two.
  std::vector<std::string> examples;    // Command lines worth copying.
  std::vector<FlagGroup> groups;
};

struct CommandLine {
  bool help = false;
  bool version = false;
};

// Sets the flags. `arguments` are those after the program's name.
absl::StatusOr<CommandLine> ParseCommandLine(const AppInfo& info, absl::Span<const std::string> arguments);

// Summary, examples and flags, for a terminal 100 columns wide.
std::string HelpText(const AppInfo& info);

}  // namespace tessera
