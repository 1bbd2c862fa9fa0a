// The table of docs/flags.md against the --help of the programs.
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

constexpr char kHead[] = "| flag | type | default | programs | meaning |\n|---|---|---|---|---|\n";

struct Row {
  std::string description;              // Type, default and meaning.
  std::vector<std::string> programs;
};

// What `tessera_X --help --json` says about one flag, as the cells of a table.
void AddFlag(const JsonValue& flag, const std::string& program, std::map<std::string, Row>& rows) {
  const std::string placeholder = *flag.String("placeholder"), otherwise = *flag.String("default");
  const std::string value = placeholder.empty() ? "" : absl::StrCat("=", placeholder);
  const bool alone = !flag.String("alone")->empty();
  const std::string name = absl::StrCat("`--", *flag.String("name"), alone ? absl::StrCat("[", value, "]") : value, "`");
  const std::string cells = absl::StrCat(*flag.String("type"), " | ", otherwise, " | %s | ", *flag.String("help"));
  Row& row = rows[name];
  if (row.programs.empty()) row.description = cells;
  EXPECT_EQ(row.description, cells) << name << " means something else in " << program;
  row.programs.emplace_back(absl::StripPrefix(program, "tessera_"));
}

std::string TableOfPrograms() {
  std::map<std::string, Row> rows;
  for (const std::string& program : Programs()) {
    const absl::StatusOr<JsonValue> help = JsonValue::Parse(RunProgram(program, {"--help", "--json"}).output);
    if (!help.ok()) return std::string(help.status().message());
    const JsonValue groups = *help->Array("groups");
    for (int64_t g = 0; g < groups.size(); ++g) {
      const JsonValue flags = *groups[g].Array("flags");
      for (int64_t f = 0; f < flags.size(); ++f) AddFlag(flags[f], program, rows);
    }
  }
  std::string table = kHead;
  for (const auto& [name, row] : rows) {
    const std::string programs = row.programs.size() == Programs().size() ? "all" : absl::StrJoin(row.programs, ", ");
    const size_t place = row.description.find("%s");
    absl::StrAppend(&table, "| ", name, " | ", row.description.substr(0, place), programs, row.description.substr(place + 2), " |\n");
  }
  return table;
}

TEST(FlagsPage, ListsEveryFlagOfEveryProgram) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/docs/flags.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = page.find(kHead);
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(page.substr(begin), TableOfPrograms()) << "if the change is meant, put the table of the programs into docs/flags.md";
}

}  // namespace
}  // namespace tessera
