#include "tessera/apps/cli/help.h"

#include <algorithm>

#include <gflags/gflags.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kTextColumn = 26;
constexpr char kExitCodes[] = "Exit codes: 0 ok, 1 failed, 2 wrong usage, 130 after Ctrl-C, 141 no reader left, 143 after SIGTERM.\n";

// Shortens a default value, since gflags writes 0.8 with 17 digits.
std::string ShortDefault(const gflags::CommandLineFlagInfo& flag) {
  double number;
  if (flag.type != "double" || !absl::SimpleAtod(flag.default_value, &number)) return flag.default_value;
  return absl::StrCat(number);
}

// Breaks `text` into lines of at most kColumns.
std::string Wrapped(absl::string_view text) {
  std::string lines;
  size_t column = 0;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const bool breaks = column > 0 && column + 1 + word.size() > kColumns;
    absl::StrAppend(&lines, breaks ? "\n" : column > 0 ? " " : "", word);
    column = (breaks || column == 0 ? 0 : column + 1) + word.size();
  }
  return lines;
}

std::string HelpLine(const std::string& left, absl::string_view text) {
  std::string line = absl::StrCat("  ", left, " ");
  line.resize(std::max(line.size(), kTextColumn), ' ');
  return absl::StrCat(line, text, "\n");
}

std::string FirstSentence(const std::string& text) {
  const size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

// Returns the first sentence, or the first clause where the sentence does not fit after the name of a subcommand.
std::string ShortSummary(const std::string& text) {
  const std::string sentence = FirstSentence(text);
  if (sentence.size() + kTextColumn <= kColumns) return sentence;
  return sentence.substr(0, std::min({sentence.find(" ("), sentence.find(": "), sentence.find(", ")})) + ".";
}

std::string FlagLine(const FlagDescription& flag) {
  const std::string value = flag.placeholder.empty() ? "" : absl::StrCat("=", flag.placeholder);
  const std::string left = absl::StrCat("--", flag.name, flag.alone.empty() ? value : absl::StrCat("[", value, "]"));
  const bool says_default = absl::StrContains(flag.help, "Default: ");   // The model may have another default.
  const bool shows_default = flag.type != "bool" && !flag.default_value.empty() && !says_default;
  return HelpLine(left, shows_default ? absl::StrCat(flag.help, " [", flag.default_value, "]") : flag.help);
}

bool ListsSubcommands(const AppInfo& info) { return info.subcommand.empty() && !info.subcommands.empty(); }

void WriteSubcommands(JsonWriter& json, const std::vector<Subcommand>& subcommands) {
  json.BeginArray();
  for (const Subcommand& command : subcommands) {
    json.BeginObject().Key("name").String(command.name).Key("summary").String(FirstSentence(command.summary)).EndObject();
  }
  json.EndArray();
}

struct DescribedFlag {
  FlagDescription flag;
  bool common;
};

// Returns the program's groups and, last, the flags that every program has.
std::vector<std::pair<std::string, std::vector<DescribedFlag>>> DescribedGroups(const AppInfo& info) {
  std::vector<std::pair<std::string, std::vector<DescribedFlag>>> groups;
  for (const FlagGroup& group : info.groups) {
    groups.emplace_back(group.title, std::vector<DescribedFlag>());
    for (const std::string& name : group.flags) groups.back().second.push_back({DescribeFlag(name), group.Shows(name)});
  }
  groups.emplace_back("General", std::vector<DescribedFlag>());
  for (const FlagDescription& flag : GeneralFlags()) groups.back().second.push_back({flag, false});
  return groups;
}

// Returns summary, examples and subcommands.
std::string Beginning(const AppInfo& info) {
  std::string text = absl::StrCat(Wrapped(absl::StrCat(info.FullName(), ": ", info.summary)), "\nExamples:\n");
  for (const std::string& example : info.examples) absl::StrAppend(&text, "  ", example, "\n");
  if (!ListsSubcommands(info)) return text;
  absl::StrAppend(&text, "Subcommands (for the flags of one: ", info.name, " ", info.subcommands[0].name, " --help):\n");
  for (const Subcommand& command : info.subcommands) text += HelpLine(command.name, ShortSummary(command.summary));
  return text;
}

}  // namespace

const std::vector<FlagDescription>& GeneralFlags() {
  static const std::vector<FlagDescription> flags = {
      {"flagfile", "string", "FILE", "", "Read flags from a file, one --name=value per line; # begins a comment."},
      {"fromenv", "string", "NAMES", "", "Read flags from the environment: top_k,seed from FLAGS_top_k, FLAGS_seed."},
      {"tryfromenv", "string", "NAMES", "", "As --fromenv, but passes over variables that are not set."},
      {"version", "bool", "", "false", "Version, commit, kernels that this CPU can run, and those in use."},
      {"help", "string", kAllFlags, "", "The flags that people use; all: every flag. -h is --help.", kCommonFlags},
  };
  return flags;
}

FlagDescription DescribeFlag(const std::string& name) {
  for (const FlagDescription& flag : GeneralFlags()) {
    if (flag.name == name) return flag;
  }
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  const std::vector<std::string> parts = absl::StrSplit(flag.description, absl::MaxSplits('|', 1));
  const std::vector<std::string> value = absl::StrSplit(parts[0], absl::MaxSplits('?', 1));  // "WHEN?always": without a value, "always".
  return {name, flag.type, value[0], ShortDefault(flag), parts[1], value.size() == 2 ? value[1] : ""};
}

std::string HelpText(const AppInfo& info) {
  std::string lines;
  int all = 0;
  for (const auto& [title, flags] : DescribedGroups(info)) {
    for (const auto& [flag, common] : flags) {
      if (common) lines += FlagLine(flag);
      ++all;
    }
  }
  return absl::StrCat(Beginning(info), "Flags (--help=all shows all ", all, " in groups):\n", lines, kExitCodes);
}

std::string FullHelpText(const AppInfo& info) {
  std::string help = Beginning(info);
  for (const auto& [title, flags] : DescribedGroups(info)) {
    absl::StrAppend(&help, title, ":\n");
    for (const auto& [flag, common] : flags) help += FlagLine(flag);
  }
  return help + kExitCodes;
}

std::string HelpJson(const AppInfo& info) {
  JsonWriter json(1);
  json.BeginObject().Key("program").String(info.FullName()).Key("summary").String(info.summary);
  if (ListsSubcommands(info)) WriteSubcommands(json.Key("subcommands"), info.subcommands);
  json.Key("groups").BeginArray();
  for (const auto& [title, flags] : DescribedGroups(info)) {
    json.BeginObject().Key("title").String(title).Key("flags").BeginArray();
    for (const auto& [flag, common] : flags) {
      json.BeginObject().Key("name").String(flag.name).Key("type").String(flag.type).Key("placeholder").String(flag.placeholder);
      json.Key("alone").String(flag.alone).Key("default").String(flag.default_value).Key("help").String(flag.help);
      json.Key("common").Bool(common).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera
