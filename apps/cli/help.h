// The output of --help and --help=all, for people and (with --json) for programs; and the description of each flag.
//
//   RETURN_IF_ERROR(WriteOutput(FLAGS_json ? HelpJson(info) : line.help == Help::kAll ? FullHelpText(info) : HelpText(info)));
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
  std::string alone = {};      // The value of a flag that is given alone; empty: a value is required, or a switch.
};

// The values of --help; without a value, --help is "common".
inline constexpr char kAllFlags[] = "all", kCommonFlags[] = "common";

// Returns the flags that every program has: --help, --version, and the flags that read flags from elsewhere.
const std::vector<FlagDescription>& GeneralFlags();

// Describes a flag. REQUIRES: a general flag, or a flag declared in flags.h.
FlagDescription DescribeFlag(const std::string& name);

// Returns summary, examples, subcommands and the flags that people use, one per line, for a terminal of 100 columns and 30 lines.
std::string HelpText(const AppInfo& info);

// Returns the text of HelpText with all flags, under the groups' titles.
std::string FullHelpText(const AppInfo& info);

// Returns {"program", "summary", "groups": [{"title", "flags": [{"name", "type", "placeholder", "alone", "default", "help", "common"}]}]}
// and, where there are some, "subcommands": [{"name", "summary"}] before the groups. "common": HelpText shows the flag.
std::string HelpJson(const AppInfo& info);

}  // namespace tessera
