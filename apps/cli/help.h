// The output of --help, for people and (with --json) for programs; and the description of each flag.
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
  std::string alone = {};      // Its value if none is given; empty: it must have one, or is a switch.
};

// The flags that every program has: --help, --version, and those that read flags from elsewhere.
const std::vector<FlagDescription>& GeneralFlags();

// REQUIRES: a general flag, or one declared in flags.h.
FlagDescription DescribeFlag(const std::string& name);

// Summary, examples, subcommands and flags by group, for a terminal of 100 columns and 60 lines.
std::string HelpText(const AppInfo& info);

// {"program", "summary", "groups": [{"title", "flags": [{"name", "type", "placeholder", "alone", "default", "help"}]}]}
// and, where there are some, "subcommands": [{"name", "summary"}] before the groups.
std::string HelpJson(const AppInfo& info);

}  // namespace tessera
