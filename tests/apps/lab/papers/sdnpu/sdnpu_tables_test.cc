// A report's tables: a cell for each column, of all that the report has, and what the papers say in notes and columns of its own.
#include "tessera/apps/lab/papers/sdnpu/sdnpu_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/tests/fakes/made_up_recordings.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const SdnpuReport& Report() {
  static const SdnpuReport report = Must(MakeSdnpuReport({}, MadeUpRecordings()));
  return report;
}

SdnpuTable TableNamed(const SdnpuReport& report, const std::string& title) {
  for (const SdnpuTable& table : SdnpuTables(report)) {
    if (absl::StartsWith(table.title, title)) return table;
  }
  ADD_FAILURE() << title;
  return {};
}

TEST(SdnpuTables, HeaderExample) {
  std::set<std::string> titles;
  for (const SdnpuTable& table : SdnpuTables(Report())) {
    EXPECT_TRUE(titles.insert(table.title).second) << table.title;
    EXPECT_FALSE(table.columns.empty()) << table.title;
    EXPECT_FALSE(table.rows.empty()) << table.title;
    EXPECT_GE(table.texts, 0) << table.title;
    EXPECT_LE(table.texts, static_cast<int>(table.columns.size())) << table.title;
    for (const std::vector<std::string>& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
    for (const std::string& note : table.notes) EXPECT_TRUE(absl::EndsWith(note, ".")) << note;
  }
}

TEST(SdnpuTables, EachSystemIsExplained) {
  const SdnpuTable table = TableNamed(Report(), "Systems");
  ASSERT_EQ(table.rows.size(), SdnpuSystems().size());
  for (size_t i = 0; i < table.rows.size(); ++i) EXPECT_EQ(table.rows[i][0], SdnpuSystems()[i].name);
}

// Published numbers are of one phone: none stands beside predictions of another.
TEST(SdnpuTables, PublishedAblationsStandBesideThePapersPhoneAlone) {
  const auto published = [](const SdnpuReport& report) {
    const SdnpuTable table = TableNamed(report, "Ablation");
    return std::count_if(table.rows.begin(), table.rows.end(), [](const std::vector<std::string>& row) { return !row[3].empty(); });
  };
  EXPECT_EQ(published(Report()), 3 * 5);
  EXPECT_EQ(published(Must(MakeSdnpuReport({.device = "8gen3"}, MadeUpRecordings()))), 0);
}

TEST(SdnpuTables, RulesHaveTheirParts) {
  const SdnpuTable table = TableNamed(Report(), "Rules of switching");
  ASSERT_EQ(table.rows.size(), Report().rules.size());
  for (size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_EQ(table.rows[i][0], SwitchRuleName(Report().rules[i].rule));
    EXPECT_EQ(table.rows[i][2] == "0.0", Report().rules[i].rule == SwitchRule::kPadded) << table.rows[i][0];
  }
}

// Each claim in one row, with as many places as the report has; what does not hold is listed with its reason.
TEST(SdnpuTables, OrdersAreCountedAndBrokenOrdersAreListed) {
  const std::vector<SdnpuOrder>& orders = Report().orders;
  const SdnpuTable claims = TableNamed(Report(), "What the papers say about orders");
  int holds = 0, all = 0;
  for (const std::vector<std::string>& row : claims.rows) holds += std::stoi(row[1]), all += std::stoi(row[2]);
  EXPECT_EQ(all, static_cast<int>(orders.size()));
  EXPECT_EQ(holds, std::count_if(orders.begin(), orders.end(), [](const SdnpuOrder& order) { return order.holds; }));
  const SdnpuTable broken = TableNamed(Report(), "Where it did not");
  EXPECT_EQ(static_cast<int>(broken.rows.size()), all - holds);
  SdnpuReport good = Report();
  for (SdnpuOrder& order : good.orders) order.holds = true;
  for (const SdnpuTable& table : SdnpuTables(good)) EXPECT_FALSE(absl::StartsWith(table.title, "Where it did not"));
}

}  // namespace
}  // namespace tessera
