#include "tessera/apps/lab/papers/figures/shown_tables.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::vector<ReportTable> Tables() {
  return {{.title = "Times of passes", .columns = {"rows", "ms"}, .rows = {{"1", "2.5"}}, .name = "times"},
          {.title = "How near", .columns = {"figures", "within"}, .rows = {{"12", "9"}}, .name = kSummaryTable},
          {.title = "Times of prompts", .columns = {"tokens", "ms"}, .rows = {{"512", "80"}}, .name = "times"}};
}

TEST(ShownTables, HeaderExample) {
  EXPECT_EQ(Must(ShownTables(Tables(), "")),
            "How near\n\n"
            "figures  within\n"
            "-------  ------\n"
            "12            9\n\n"
            "All tables\n\n"
            "--table=  what              rows\n"
            "--------  ----------------  ----\n"
            "times     Times of passes      1\n"
            "summary   How near             1\n"
            "times     Times of prompts     1\n"
            "--table=all prints all of them; --json has all numbers.\n\n");
}

TEST(ShownTables, ANameShowsAllTablesWithThatName) {
  const std::string times = Must(ShownTables(Tables(), "times"));
  EXPECT_TRUE(absl::StrContains(times, "Times of passes") && absl::StrContains(times, "Times of prompts")) << times;
  EXPECT_FALSE(absl::StrContains(times, "How near")) << times;
  EXPECT_TRUE(absl::StrContains(Must(ShownTables(Tables(), "all")), "How near"));
}

TEST(ShownTables, AnUnknownNameIsWrongUsageThatListsTheNames) {
  const absl::Status status = ShownTables(Tables(), "time").status();
  EXPECT_TRUE(IsWrongUsage(status));
  EXPECT_EQ(FieldOf(status), "table");
  EXPECT_TRUE(absl::StrContains(status.message(), "found \"time\", expected one of times, summary, all")) << status;
}

TEST(ShownTables, RecordingsAreATable) {
  const ReportTable table = RecordingsTable({"sam: 12 texts", "lookup: 12 texts"});
  EXPECT_EQ(table.name, "recordings");
  EXPECT_EQ(table.rows.size(), 2u);
}

}  // namespace
}  // namespace tessera
