#include "tessera/apps/cli/help.h"

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
constexpr char kGeneral[] = "General";

// gflags writes 0.8 with 17 digits.
std::string ShortDefault(const gflags::CommandLineFlagInfo& flag) {
  double number;
  if (flag.type != "double" || !absl::SimpleAtod(flag.default_value, &number)) return flag.default_value;
  return absl::StrCat(number);
}

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

std::string FirstSentence(const std::string& text) {
  const size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string FlagLine(const FlagDescription& flag) {
  const std::string value = flag.placeholder.empty() ? "" : absl::StrCat("=", flag.placeholder);
  const std::string left = absl::StrCat("--", flag.name, flag.alone.empty() ? value : absl::StrCat("[", value, "]"));
  const bool says_default = absl::StrContains(flag.help, "Default: ");   // The model may have one of its own.
  const bool shows_default = flag.type != "bool" && !flag.default_value.empty() && !says_default;
  return HelpLine(left, shows_default ? absl::StrCat(flag.help, " [", flag.default_value, "]") : flag.help);
}

// For a terminal flags that follow each other and differ little share a line.
struct SharedLine {
  const char *first, *second, *left, *text;
};
constexpr SharedLine kShared[] = {
    {"prompt", "prompt_file", "--prompt[_file]=TEXT", "The prompt, or its file (-: standard input; a last line break is dropped)."},
    {"answers", "distinct_first_tokens", "--answers=K", "Write K answers at once [1]; --distinct_first_tokens: no two begin alike."},
    {"best_of", "beam", "--best_of=N", "Write N samples, keep one [1]; --beam=4x4: beam search over steps."},
    {"step_delimiter", "most_steps", "--step_delimiter=TEXT", "Ends a step of --beam [\\n\\n]; --most_steps=N: no more than N [40]."},
    {"scorer", "select", "--scorer=NAME", "self_certainty, reward:FILE, judge, ...; --select=majority or weighted."},
    {"json", "stats", "--json, --stats", "The result as JSON, also of --version and --help; --stats: say more."},
    {"history", "history_prompts", "--history=NAME", "Draft also from answers kept as NAME, keep these; --history_prompts, too."},
    {"switching", "blocks", "--switching=NAME", "When unshared graphs change: none, planned, ... [auto]; --blocks=N moved."},
    {"repetition_penalty", "penalty_window", "--repetition_penalty=X",
     "Divide logits of --penalty_window=N tokens by X. Default: the model's."},
    {"adapter", "use_adapter", "--[use_]adapter=LIST", "Adapters (LoRA), NAME:PATH[:SCALE]; use_: that of texts that name none."},
    {"lora_mode", "adapter_memory", "--lora_mode=NAME", "graph, input or mask; --adapter_memory=SIZE: read others where named."},
    {"parallel", "unordered", "--parallel=N", "Answer N requests of --jsonl at once [1]; --unordered: as they end."},
    {"prune", "prune_threshold", "--prune[_threshold]=X", "Drop rows of drafts half-way by the predictor in FILE: those below X [0.1]"},
};

const SharedLine* SharedLineOf(const std::string& first, const std::string& second) {
  for (const SharedLine& line : kShared) {
    if (first == line.first && second == line.second) return &line;
  }
  return nullptr;
}

std::string FlagLines(const std::vector<FlagDescription>& flags) {
  std::string lines;
  for (size_t i = 0; i < flags.size(); ++i) {
    const SharedLine* const shared = i + 1 < flags.size() ? SharedLineOf(flags[i].name, flags[i + 1].name) : nullptr;
    absl::StrAppend(&lines, shared == nullptr ? FlagLine(flags[i]) : HelpLine(shared->left, shared->text));
    i += shared == nullptr ? 0 : 1;
  }
  return lines;
}

// Those of GeneralFlags(), in the same way.
std::string GeneralLines() {
  return absl::StrCat(FlagLine(DescribeFlag("flagfile")),
                      HelpLine("--[try]fromenv=NAMES", "Read top_k,seed from FLAGS_top_k, FLAGS_seed; with try those that are set."),
                      HelpLine("--version, --help", "Version, commit, kernels of this CPU and those in use; this text, as -h."));
}

bool ListsSubcommands(const AppInfo& info) { return info.subcommand.empty() && !info.subcommands.empty(); }

void WriteSubcommands(JsonWriter& json, const std::vector<Subcommand>& subcommands) {
  json.BeginArray();
  for (const Subcommand& command : subcommands) {
    json.BeginObject().Key("name").String(command.name).Key("summary").String(FirstSentence(command.summary)).EndObject();
  }
  json.EndArray();
}

// The program's groups and, last, the flags that every program has.
std::vector<std::pair<std::string, std::vector<FlagDescription>>> DescribedGroups(const AppInfo& info) {
  std::vector<std::pair<std::string, std::vector<FlagDescription>>> groups;
  for (const FlagGroup& group : info.groups) {
    groups.emplace_back(group.title, std::vector<FlagDescription>());
    for (const std::string& name : group.flags) groups.back().second.push_back(DescribeFlag(name));
  }
  groups.emplace_back(kGeneral, GeneralFlags());
  return groups;
}

}  // namespace

const std::vector<FlagDescription>& GeneralFlags() {
  static const std::vector<FlagDescription> flags = {
      {"flagfile", "string", "FILE", "", "Read flags from a file, one --name=value per line; # begins a comment."},
      {"fromenv", "string", "NAMES", "", "Read flags from the environment: top_k,seed from FLAGS_top_k, FLAGS_seed."},
      {"tryfromenv", "string", "NAMES", "", "As --fromenv, but passes over variables that are not set."},
      {"version", "bool", "", "false", "Version, commit, kernels that this CPU can run, and those in use."},
      {"help", "bool", "", "false", "This text; -h, too."},
  };
  return flags;
}

FlagDescription DescribeFlag(const std::string& name) {
  for (const FlagDescription& flag : GeneralFlags()) {
    if (flag.name == name) return flag;
  }
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  const std::vector<std::string> parts = absl::StrSplit(flag.description, absl::MaxSplits('|', 1));
  const std::vector<std::string> value = absl::StrSplit(parts[0], absl::MaxSplits('?', 1));  // "WHEN?always": without a value it is always.
  return {name, flag.type, value[0], ShortDefault(flag), parts[1], value.size() == 2 ? value[1] : ""};
}

std::string HelpText(const AppInfo& info) {
  std::string help = absl::StrCat(Wrapped(absl::StrCat(info.FullName(), ": ", info.summary), 0), "\nExamples:\n");
  for (const std::string& example : info.examples) absl::StrAppend(&help, "  ", example, "\n");
  if (ListsSubcommands(info)) {
    absl::StrAppend(&help, "Subcommands (for the flags of one: ", info.name, " ", info.subcommands[0].name, " --help):\n");
    for (const Subcommand& command : info.subcommands) help += HelpLine(command.name, FirstSentence(command.summary));
  }
  for (const auto& [title, flags] : DescribedGroups(info)) {
    absl::StrAppend(&help, title, ":\n");
    if (title == kGeneral) {
      help += GeneralLines();
      continue;
    }
    help += FlagLines(flags);
  }
  return help + "Exit codes: 0 ok, 1 failed, 2 wrong usage, 130 after Ctrl-C, 141 no reader left, 143 after SIGTERM.\n";
}

std::string HelpJson(const AppInfo& info) {
  JsonWriter json(1);
  json.BeginObject().Key("program").String(info.FullName()).Key("summary").String(info.summary);
  if (ListsSubcommands(info)) WriteSubcommands(json.Key("subcommands"), info.subcommands);
  json.Key("groups").BeginArray();
  for (const auto& [title, flags] : DescribedGroups(info)) {
    json.BeginObject().Key("title").String(title).Key("flags").BeginArray();
    for (const FlagDescription& flag : flags) {
      json.BeginObject().Key("name").String(flag.name).Key("type").String(flag.type).Key("placeholder").String(flag.placeholder);
      json.Key("alone").String(flag.alone).Key("default").String(flag.default_value).Key("help").String(flag.help).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera
