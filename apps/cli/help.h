// What --help says, to people and (with --json) to programs; and what is known of each flag.
//
//   RETURN_IF_ERROR(WriteOutput(FLAGS_json ? HelpJson(info) : HelpText(info)));
//   if (DescribeFlag("top_k").type == "int32") ...
//
// Thread-safe once the command line is read.
#pragma once

#include <string>
#include <vector>

#include "tessera/apps/cli/command_line.h"

namespace tessera {

struct FlagDescription {
  std::string name;            // Without dashes.
  std::string type;            // "bool", "int32", "uint64", "double" or "string".
  std::string placeholder;     // Stands for the value; empty for a switch. "TEXT" may be empty, all others not.
  std::string default_value;   // As text; empty: none.
  std::string help;
  std::string alone = {};      // What it is without a value; empty: it must have one, or is a switch.
};

// Those that every program has: --help, --version and where else flags are read from.
const std::vector<FlagDescription>& GeneralFlags();

// REQUIRES: a general flag, or one declared in flags.h.
FlagDescription DescribeFlag(const std::string& name);

// "  rows     Times passes ...": a subcommand in a list of them.
std::string SubcommandLine(const AppInfo& info);

// Summary, examples and flags by group, for a terminal of 100 columns and 60 lines.
std::string HelpText(const AppInfo& info);

// {"program", "summary", "subcommands": [{"name", "summary"}], "groups": [{"title", "flags": [{"name", "type", "placeholder", "alone", "default", "help"}]}]}
std::string HelpJson(const AppInfo& info);

}  // namespace tessera
