#include "tessera/apps/common/command_line.h"

#include <algorithm>

#include <gflags/gflags.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kTextColumn = 28;
constexpr int64_t kLargestFlagFile = 1 << 20;

std::vector<std::string> NamesOf(const AppInfo& info) {
  std::vector<std::string> names = {"help", "version", "flagfile"};
  for (const FlagGroup& group : info.groups) names.insert(names.end(), group.flags.begin(), group.flags.end());
  return names;
}

const char* ExpectedBy(const std::string& type) {
  if (type == "bool") return "true or false";
  if (type == "int32") return "a whole number of at most 31 bits";
  if (type == "uint64") return "a whole number, 0 and up";
  if (type == "double") return "a number";
  return "text";
}

// Goes through arguments one by one; a flag file's lines take the place of --flagfile.
class Parser {
 public:
  explicit Parser(const AppInfo& info) : names_(NamesOf(info)) {}

  absl::Status Parse(absl::Span<const std::string> arguments, bool in_file) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (!absl::StartsWith(argument, "-") || argument == "-" || argument == "--") {
        return absl::InvalidArgumentError(
            absl::StrCat("unexpected argument \"", argument, "\", expected a flag (put text in quotes: --prompt=\"two words\")"));
      }
      const std::vector<std::string> parts = absl::StrSplit(argument, absl::MaxSplits('=', 1));
      std::string name = absl::StrReplaceAll(parts[0].substr(absl::StartsWith(argument, "--") ? 2 : 1), {{"-", "_"}});
      ASSIGN_OR_RETURN(const bool negated, Resolve(name));
      std::string value = negated ? "false" : "true";
      if (parts.size() == 2) {
        if (negated) return absl::InvalidArgumentError(absl::StrCat("--no", name, ": found a value, expected none"));
        value = parts[1];
      } else if (!IsSwitch(name)) {
        if (++i == arguments.size()) return absl::InvalidArgumentError(absl::StrCat("--", name, ": found no value, expected one"));
        value = arguments[i];
      }
      RETURN_IF_ERROR(Set(name, value, in_file));
    }
    return absl::OkStatus();
  }

  CommandLine line;

 private:
  bool IsKnown(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

  static bool IsSwitch(const std::string& name) {
    gflags::CommandLineFlagInfo flag;
    return gflags::GetCommandLineFlagInfo(name.c_str(), &flag) && flag.type == "bool";  // Includes --help and --version.
  }

  // Finds the flag meant; true if it is a switch with "no" before it, which is then taken off the name.
  absl::StatusOr<bool> Resolve(std::string& name) const {
    if (IsKnown(name)) return false;
    if (absl::StartsWith(name, "no") && IsKnown(name.substr(2)) && IsSwitch(name.substr(2))) {
      name = name.substr(2);
      return true;
    }
    const std::string nearest = NearestName(name, names_);
    return absl::InvalidArgumentError(absl::StrCat("unknown flag --", name, nearest.empty() ? "" : ": did you mean --", nearest,
                                                   nearest.empty() ? "" : "?"));
  }

  absl::Status Set(const std::string& name, const std::string& value, bool in_file) {
    if (name == "help" || name == "version") {
      (name == "help" ? line.help : line.version) = value != "false";
      return absl::OkStatus();
    }
    if (name == "flagfile") return ReadFlagFile(value, in_file);
    if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": found \"", value, "\", expected ",
                                                     ExpectedBy(gflags::GetCommandLineFlagInfoOrDie(name.c_str()).type)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadFlagFile(const std::string& path, bool in_file) {
    if (in_file) return absl::InvalidArgumentError(absl::StrCat("--flagfile: found ", path, " in a flag file, expected no other file"));
    const absl::StatusOr<std::string> text = ReadFileToString(path, kLargestFlagFile);
    if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat("--flagfile: ", text.status().message()));
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty() && line[0] != '#') lines.emplace_back(line);
    }
    return Parse(lines, /*in_file=*/true);
  }

  const std::vector<std::string> names_;
};

// `text` in lines of at most kColumns, each after the first indented.
std::string Wrapped(absl::string_view text, size_t indent) {
  std::string lines;
  size_t column = indent;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      absl::StrAppend(&lines, "\n", std::string(indent, ' '));
      column = indent;
    }
    if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines.append(word.data(), word.size());
    column += word.size();
  }
  return lines;
}

std::string HelpLine(const std::string& left, absl::string_view text) {
  std::string line = absl::StrCat("  ", left);
  if (line.size() + 2 > kTextColumn) {
    absl::StrAppend(&line, "\n", std::string(kTextColumn, ' '));
  } else {
    line.resize(kTextColumn, ' ');
  }
  return absl::StrCat(line, Wrapped(text, kTextColumn), "\n");
}

std::string FlagHelp(const std::string& name) {
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  const size_t bar = flag.description.rfind('|');
  const std::string left = absl::StrCat("--", name, bar > 0 ? "=" : "", flag.description.substr(0, bar));
  std::string text = flag.description.substr(bar + 1);
  double number;  // gflags writes 0.8 with 17 digits.
  if (flag.type == "double" && absl::SimpleAtod(flag.default_value, &number)) {
    absl::StrAppend(&text, " Default: ", number, ".");
  } else if (flag.type != "bool" && !flag.default_value.empty()) {
    absl::StrAppend(&text, " Default: ", flag.default_value, ".");
  }
  return HelpLine(left, text);
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const AppInfo& info, absl::Span<const std::string> arguments) {
  Parser parser(info);
  RETURN_IF_ERROR(parser.Parse(arguments, /*in_file=*/false));
  return parser.line;
}

std::string HelpText(const AppInfo& info) {
  std::string help = absl::StrCat(Wrapped(absl::StrCat(info.name, ": ", info.summary), 0), "\n\nExamples:\n");
  for (const std::string& example : info.examples) absl::StrAppend(&help, "  ", example, "\n");
  for (const FlagGroup& group : info.groups) {
    absl::StrAppend(&help, "\n", group.title, ":\n");
    for (const std::string& name : group.flags) help += FlagHelp(name);
  }
  help += "\nGeneral:\n";
  help += HelpLine("--flagfile=FILE", "Read further flags from a file, one a line; lines that begin with # are left out.");
  help += HelpLine("--version", "Version and commit, and the kernels this CPU can run.");
  help += HelpLine("--help", "This text.");
  return help + "\nExit codes: 0 ok, 1 failed, 2 wrong usage.\n";
}

}  // namespace tessera
