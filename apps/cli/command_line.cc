#include "tessera/apps/cli/command_line.h"

#include <algorithm>
#include <cstdlib>

#include <gflags/gflags.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/help.h"
#include "tessera/apps/cli/other_names.h"
#include "tessera/apps/cli/text/byte_order_mark.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"

namespace tessera {
namespace {

constexpr int64_t kLargestFlagFile = 1 << 20;

std::vector<std::string> NamesOf(const AppInfo& info) {
  std::vector<std::string> names;
  for (const FlagGroup& group : info.groups) names.insert(names.end(), group.flags.begin(), group.flags.end());
  for (const FlagDescription& flag : GeneralFlags()) names.push_back(flag.name);
  return names;
}

bool IsGeneral(const std::string& name) {
  const std::vector<FlagDescription>& flags = GeneralFlags();
  return std::any_of(flags.begin(), flags.end(), [&](const FlagDescription& flag) { return flag.name == name; });
}

const char* ExpectedBy(const std::string& type) {
  if (type == "bool") return "true or false";
  if (type == "int32") return "a whole number of at most 31 bits";
  if (type == "uint64") return "a whole number, 0 and up";
  if (type == "double") return "a number";
  return "text";
}

// Returns the found text, shortened, for a message.
std::string Shown(absl::string_view text) {
  constexpr size_t kMost = 100;
  return absl::StrCat("\"", text.substr(0, kMost), text.size() > kMost ? "...\"" : "\"");
}

absl::Status FlagError(absl::string_view name, absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": found ", found, ", expected ", expected));
}

// Adds the place to an error in the file or variable that a flag refers to.
absl::Status At(absl::string_view place, const absl::Status& status) {
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(place, ": ", status.message()));
}

// Returns the place where a flag is known: "in \"tessera_x show\"". If many subcommands have the flag, only one is named.
std::string InSubcommands(const AppInfo& info, const std::vector<std::string>& names) {
  constexpr size_t kMost = 2;
  const auto add_name = [&](std::string* text, const std::string& name) { absl::StrAppend(text, "\"", info.name, " ", name, "\""); };
  if (names.size() > kMost) return absl::StrCat("in a subcommand, such as \"", info.name, " ", names[0], "\"");
  return absl::StrCat("in ", absl::StrJoin(names, ", ", add_name));
}

// Returns the names with this prefix, if the names are few enough to choose from.
std::vector<std::string> NamesThatBegin(const std::string& begin, const std::vector<std::string>& names) {
  constexpr size_t kLeast = 2, kMost = 3;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (begin.size() >= kLeast && absl::StartsWith(name, begin)) found.push_back(name);
  }
  return found.size() > kMost ? std::vector<std::string>() : found;
}

// Goes through arguments one by one; flags of --flagfile and --fromenv replace the argument.
class Parser {
 public:
  explicit Parser(const AppInfo& info) : info_(info), names_(NamesOf(info)) {}

  absl::Status Parse(absl::Span<const std::string> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (!absl::StartsWith(argument, "-") || argument == "-" || argument == "--") {
        if (in_file_ || plain_taken_ == info_.plain_arguments.size()) return Unexpected(argument);
        RETURN_IF_ERROR(Set(info_.plain_arguments[plain_taken_++], argument));
        continue;
      }
      const std::vector<std::string> parts = absl::StrSplit(argument, absl::MaxSplits('=', 1));
      std::string name = absl::StrReplaceAll(parts[0].substr(absl::StartsWith(argument, "--") ? 2 : 1), {{"-", "_"}});
      if (name == "h") name = "help";
      ASSIGN_OR_RETURN(const bool negated, Resolve(name, parts[0]));
      std::string value = negated ? "false" : "true";
      if (parts.size() == 2) {
        if (negated) return FlagError("no" + name, "a value", "none");
        value = parts[1];
      } else if (const std::string alone = DescribeFlag(name).alone; !alone.empty()) {
        value = alone;
      } else if (!IsSwitch(name)) {
        if (++i == arguments.size()) return FlagError(name, "no value", "one");
        value = arguments[i];
      }
      RETURN_IF_ERROR(Set(name, value));
    }
    return absl::OkStatus();
  }

  CommandLine line;

 private:
  bool IsKnown(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

  static bool IsSwitch(const std::string& name) { return DescribeFlag(name).type == "bool"; }

  // Finds the flag. Returns true for a switch after "no", which is then removed from the name. `typed`: the name with dashes.
  absl::StatusOr<bool> Resolve(std::string& name, absl::string_view typed) const {
    if (IsKnown(name)) return false;
    if (absl::StartsWith(name, "no") && IsKnown(name.substr(2)) && IsSwitch(name.substr(2))) {
      name = name.substr(2);
      return true;
    }
    RETURN_IF_ERROR(CheckNotElsewhere(name));
    return absl::InvalidArgumentError(absl::StrCat("unknown flag ", typed.substr(0, 64), HintFor(name.substr(0, 64))));
  }

  bool IsSubcommand(const std::string& name) const {
    const auto is_it = [&](const Subcommand& command) { return command.name == name; };
    return std::any_of(info_.subcommands.begin(), info_.subcommands.end(), is_it);
  }

  // Returns an error if a name that is no flag here is a flag of another subcommand, or a subcommand.
  absl::Status CheckNotElsewhere(const std::string& name) const {
    const std::string found = absl::StrCat("in \"", info_.FullName(), "\"");
    for (const std::string& meant : {name, std::string(absl::StripPrefix(name, "no"))}) {
      const auto other = info_.elsewhere.find(meant);
      if (other != info_.elsewhere.end()) return FlagError(name, found, InSubcommands(info_, other->second));
    }
    if (!IsSubcommand(name) || name == info_.subcommand) return absl::OkStatus();
    return FlagError(name, found, absl::StrCat("the subcommand \"", info_.name, " ", name, "\""));
  }

  // Returns a hint for a name that is no flag here. The hint suggests the flag that other engines call so, flags with this prefix, or a
  // flag of nearly the same spelling.
  std::string HintFor(const std::string& name) const {
    std::vector<std::string> names = names_;
    for (const auto& [other, subcommands] : info_.elsewhere) names.push_back(other);
    const OtherName* const other = FindOtherName(name);
    if (other != nullptr && *other->ours == 0) return absl::StrCat(": ", other->note);
    std::vector<std::string> meant;
    if (other != nullptr && std::find(names.begin(), names.end(), other->ours) != names.end()) meant = {other->ours};
    if (meant.empty()) meant = NamesThatBegin(name, names);
    if (meant.empty()) meant = {NearestName(name, names)};
    if (!meant[0].empty()) {
      const auto elsewhere = info_.elsewhere.find(meant[0]);
      return absl::StrCat(": did you mean --", absl::StrJoin(meant, " or --"),
                          elsewhere == info_.elsewhere.end() ? "" : absl::StrCat(" ", InSubcommands(info_, elsewhere->second)), "?");
    }
    if (!info_.subcommand.empty() || info_.subcommands.empty()) return "";
    const auto name_of = [](std::string* text, const Subcommand& command) { text->append(command.name); };
    return absl::StrCat("; the subcommands are ", absl::StrJoin(info_.subcommands, ", ", name_of));
  }

  absl::Status Unexpected(const std::string& argument) const {
    std::string hint;
    if (IsSubcommand(argument)) {
      hint = info_.subcommand.empty() ? absl::StrCat(" (the subcommand stands before all flags: ", info_.name, " ", argument, ")")
                                      : " (one subcommand per run)";
    } else if (IsKnown("prompt")) {
      hint = " (put text in quotes: --prompt=\"two words\")";
    }
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument ", Shown(argument), ", expected a flag", hint));
  }

  absl::Status Set(const std::string& name, const std::string& value) {
    const FlagDescription flag = DescribeFlag(name);
    if (absl::StrContains(value, '\0')) return FlagError(name, "a NUL byte", ExpectedBy(flag.type));
    if (value.empty() && flag.placeholder != "TEXT") {  // An empty value is not the default: --model=$FILE, with FILE unset, is a mistake.
      return FlagError(name, "an empty value", flag.placeholder.empty() ? "true or false" : flag.placeholder);
    }
    if (name == "help") return SetHelp(value);
    if (name == "version") return SetSwitch(name, value, &line.version);
    if (name == "flagfile") return ReadFlagFile(value);
    if (name == "fromenv") return ReadEnvironment(name, value, /*required=*/true);
    if (name == "tryfromenv") return ReadEnvironment(name, value, /*required=*/false);
    if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return FlagError(name, Shown(value), ExpectedBy(flag.type));
    return absl::OkStatus();
  }

  absl::Status SetHelp(const std::string& value) {
    if (value != kCommonFlags && value != kAllFlags) return FlagError("help", Shown(value), absl::StrCat(kAllFlags, ", or no value"));
    line.help = value == kAllFlags ? Help::kAll : Help::kCommon;
    return absl::OkStatus();
  }

  static absl::Status SetSwitch(const std::string& name, const std::string& value, bool* on) {
    *on = value == "true";
    return *on || value == "false" ? absl::OkStatus() : FlagError(name, Shown(value), ExpectedBy("bool"));
  }

  absl::Status ReadFlagFile(const std::string& path) {
    if (in_file_) return FlagError("flagfile", Shown(path), "no flag file in a flag file");
    absl::StatusOr<std::string> text = ReadTextFile(path, kLargestFlagFile);
    if (!text.ok()) return At("--flagfile", text.status());
    RETURN_IF_ERROR(At("--flagfile", DropByteOrderMark(path, &*text)));
    line.flag_files.push_back(path);
    in_file_ = true;
    int number = 0;
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      ++number;
      line = absl::StripLeadingAsciiWhitespace(absl::StripSuffix(line, "\r"));
      if (!IsText(line)) line = absl::StripTrailingAsciiWhitespace(line);
      if (line.empty() || line[0] == '#') continue;
      RETURN_IF_ERROR(At(absl::StrCat("--flagfile: ", path, ", line ", number), Parse({std::string(line)})));
    }
    in_file_ = false;
    return absl::OkStatus();
  }

  // Returns true for "--prompt=..." and all other flags whose value may be any text: blanks at the end belong to the value.
  bool IsText(absl::string_view line) const {
    const std::string name = absl::StrReplaceAll(absl::StripPrefix(absl::StripPrefix(line.substr(0, line.find('=')), "-"), "-"),
                                                 {{"-", "_"}});
    return line.size() > name.size() && IsKnown(name) && DescribeFlag(name).type == "string";
  }

  absl::Status ReadEnvironment(const std::string& by, const std::string& names, bool required) {
    const std::vector<std::string> list = absl::StrSplit(names, ',');
    for (const std::string& name : list) {
      if (!IsKnown(name)) RETURN_IF_ERROR(At(absl::StrCat("--", by), CheckNotElsewhere(name)));
      if (!IsKnown(name) || IsGeneral(name)) return FlagError(by, Shown(name), "flags of this program, with commas between");
      const std::string variable = absl::StrCat("FLAGS_", name);
      const char* value = std::getenv(variable.c_str());
      if (value != nullptr) RETURN_IF_ERROR(At(absl::StrCat("--", by, ": ", variable), Set(name, value)));
      if (value == nullptr && required) return FlagError(by, absl::StrCat("no ", variable, " in the environment"), "it to be set");
    }
    return absl::OkStatus();
  }

  const AppInfo& info_;
  const std::vector<std::string> names_;
  size_t plain_taken_ = 0;
  bool in_file_ = false;
};

}  // namespace

std::string AppInfo::FullName() const { return subcommand.empty() ? name : absl::StrCat(name, " ", subcommand); }

absl::StatusOr<CommandLine> ParseCommandLine(const AppInfo& info, absl::Span<const std::string> arguments) {
  Parser parser(info);
  RETURN_IF_ERROR(parser.Parse(arguments));
  return parser.line;
}

}  // namespace tessera
