// The tables of docs/flags.md against the --help of the programs.
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tessera/base/json.h"
#include "tessera/tests/apps/run_program.h"

namespace tessera {
namespace {

constexpr char kFlags[] = "| flag | type | default | programs | meaning |\n|---|---|---|---|---|\n";
constexpr char kSubcommands[] = "| subcommand | measures | its flags |\n|---|---|---|\n";

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

// A row for each subcommand: its sentence in the program's help, and its own flags.
std::string TableOfSubcommands(const std::string& program) {
  std::string table = kSubcommands;
  const JsonValue subcommands = *HelpOf(program).Array("subcommands");
  for (int64_t s = 0; s < subcommands.size(); ++s) {
    const std::string name = absl::StrCat(program, " ", *subcommands[s].String("name"));
    const JsonValue groups = *HelpOf(name).Array("groups");
    std::vector<std::string> flags;
    for (int64_t g = 0; g < groups.size(); ++g) {
      const JsonValue of_group = *groups[g].Array("flags");
      if (*groups[g].String("title") == "General") continue;
      for (int64_t f = 0; f < of_group.size(); ++f) flags.push_back(absl::StrCat("`--", *of_group[f].String("name"), "`"));
    }
    absl::StrAppend(&table, "| `", name, "` | ", *subcommands[s].String("summary"), " | ", absl::StrJoin(flags, " "), " |\n");
  }
  return table;
}

// The page's table that begins with `head`.
std::string TableOfPage(const std::string& head) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/docs/flags.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
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

}  // namespace
}  // namespace tessera
