#include "tessera/apps/lab/papers/figures/shown_tables.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr size_t kMostColumns = 120;
constexpr char kAll[] = "all";

bool IsSummary(const ReportTable& table) { return table.name == kSummaryTable || table.name == kOrdersTable; }

std::vector<std::string> NamesOf(const std::vector<ReportTable>& tables) {
  std::vector<std::string> names;
  for (const ReportTable& table : tables) {
    CHECK(!table.name.empty()) << table.title;
    if (std::find(names.begin(), names.end(), table.name) == names.end()) names.push_back(table.name);
  }
  names.push_back(kAll);
  return names;
}

ReportTable ListOf(const std::vector<ReportTable>& tables) {
  ReportTable list = {.title = "All tables", .columns = {"--table=", "what", "rows"}, .texts = 2};
  list.notes = {"--table=all prints all of them; --json has all numbers."};
  for (const ReportTable& table : tables) list.rows.push_back({table.name, table.title, absl::StrCat(table.rows.size())});
  return list;
}

}  // namespace

ReportTable RecordingsTable(const std::vector<std::string>& recordings) {
  ReportTable table = {.title = "Recordings", .columns = {"what was recorded"}, .name = "recordings"};
  for (const std::string& recording : recordings) table.rows.push_back({recording});
  return table;
}

absl::StatusOr<std::string> ShownTables(const std::vector<ReportTable>& tables, absl::string_view name) {
  const std::vector<std::string> names = NamesOf(tables);
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    return WrongUsage("table", Quoted(name), absl::StrCat("one of ", absl::StrJoin(names, ", ")));
  }
  std::string text;
  for (const ReportTable& table : tables) {
    const bool shown = name.empty() ? IsSummary(table) : name == kAll || table.name == name;
    if (shown) absl::StrAppend(&text, ReportTableText(table, kMostColumns));
  }
  return name.empty() ? absl::StrCat(text, ReportTableText(ListOf(tables), kMostColumns)) : text;
}

}  // namespace tessera
