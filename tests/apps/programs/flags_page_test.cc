// The tables of docs/flags.md against the --help of the programs.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

constexpr char kFlags[] = "| flag | type | default | programs | meaning |\n|---|---|---|---|---|\n";
constexpr char kSubcommands[] = "| subcommand | measures | flags of its own, and of output | model flags | streaming flags |\n"
                                "|---|---|---|---|---|\n";

JsonValue HelpOf(const std::string& command) { return Json(RunProgram(command, {"--help", "--json"}).output); }

struct Row {
  std::string description;              // Type, default and meaning.
  std::vector<std::string> programs;
};

// What `tessera_X --help --json` says about one flag, as the cells of a table.
void AddFlag(const JsonValue& flag, const std::string& command, std::map<std::string, Row>& rows) {
  const std::string placeholder = *flag.String("placeholder"), otherwise = *flag.String("default");
  const std::string value = placeholder.empty() ? "" : absl::StrCat("=", placeholder);
  const bool alone = !flag.String("alone")->empty();
  const std::string name = absl::StrCat("`--", *flag.String("name"), alone ? absl::StrCat("[", value, "]") : value, "`");
  const std::string cells = absl::StrCat(*flag.String("type"), " | ", otherwise, " | %s | ", *flag.String("help"));
  Row& row = rows[name];
  if (row.programs.empty()) row.description = cells;
  EXPECT_EQ(row.description, cells) << name << " means something else in " << command;
  const std::string program(absl::StripPrefix(command.substr(0, command.find(' ')), "tessera_"));
  if (row.programs.empty() || row.programs.back() != program) row.programs.push_back(program);
}

std::string TableOfPrograms() {
  std::map<std::string, Row> rows;
  for (const std::string& command : Commands()) {
    const JsonValue groups = *HelpOf(command).Array("groups");
    for (int64_t g = 0; g < groups.size(); ++g) {
      const JsonValue flags = *groups[g].Array("flags");
      for (int64_t f = 0; f < flags.size(); ++f) AddFlag(flags[f], command, rows);
    }
  }
  std::string table = kFlags;
  for (const auto& [name, row] : rows) {
    const std::string programs = row.programs.size() == Programs().size() ? "all" : absl::StrJoin(row.programs, ", ");
    const size_t place = row.description.find("%s");
    absl::StrAppend(&table, "| ", name, " | ", row.description.substr(0, place), programs, row.description.substr(place + 2), " |\n");
  }
  return table;
}

std::string InTicks(const std::vector<std::string>& flags) {
  return absl::StrJoin(flags, " ", [](std::string* text, const std::string& flag) { absl::StrAppend(text, "`--", flag, "`"); });
}

// "all", "none" or "all but ...": what a subcommand has of a group that many have in common.
std::string ShareOf(const FlagGroup& group, const std::vector<std::string>& flags) {
  std::vector<std::string> missing = group.flags;
  std::erase_if(missing, [&](const std::string& flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); });
  if (flags.empty()) return "none";
  return missing.empty() ? "all" : "all but " + InTicks(missing);
}

// A row for each subcommand: its sentence in the program's help, and its flags.
std::string TableOfSubcommands(const std::string& program) {
  std::string table = kSubcommands;
  const JsonValue subcommands = *HelpOf(program).Array("subcommands");
  for (int64_t s = 0; s < subcommands.size(); ++s) {
    const std::string name = absl::StrCat(program, " ", *subcommands[s].String("name"));
    const JsonValue groups = *HelpOf(name).Array("groups");
    std::vector<std::string> own, model, streaming;
    for (int64_t g = 0; g < groups.size(); ++g) {
      const std::string title = *groups[g].String("title");
      if (title == "General") continue;
      const JsonValue flags = *groups[g].Array("flags");
      std::vector<std::string>& place = title == ModelFlags().title ? model : title == StreamingFlags().title ? streaming : own;
      for (int64_t f = 0; f < flags.size(); ++f) place.push_back(*flags[f].String("name"));
    }
    absl::StrAppend(&table, "| `", name, "` | ", *subcommands[s].String("summary"), " | ", InTicks(own), " | ",
                    ShareOf(ModelFlags(), model), " | ", ShareOf(StreamingFlags(), streaming), " |\n");
  }
  return table;
}

std::string Page() {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/docs/flags.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The page's table that begins with `head`.
std::string TableOfPage(const std::string& head) {
  const std::string page = Page();
  const size_t begin = page.find(head), end = page.find("\n\n", begin);
  if (begin == std::string::npos) return "";
  return end == std::string::npos ? page.substr(begin) : page.substr(begin, end + 1 - begin);
}

TEST(FlagsPage, ListsEveryFlagOfEveryProgram) {
  EXPECT_EQ(TableOfPage(kFlags), TableOfPrograms()) << "if the change is meant, put the table of the programs into docs/flags.md";
}

TEST(FlagsPage, ListsTheFlagsOfEverySubcommand) {
  EXPECT_EQ(TableOfPage(kSubcommands), TableOfSubcommands("tessera_bench")) << "if the change is meant, put the second into docs/flags.md";
}

TEST(FlagsPage, ListsTheModelAndStreamingFlags) {
  for (const FlagGroup& group : {ModelFlags(), StreamingFlags()}) {
    EXPECT_NE(Page().find(InTicks(group.flags) + "\n"), std::string::npos) << InTicks(group.flags) << " on a line of its own";
  }
}

}  // namespace
}  // namespace tessera
