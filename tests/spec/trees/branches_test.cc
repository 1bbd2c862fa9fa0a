#include "tessera/spec/trees/branches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::set<std::string> Texts(const std::vector<Branches>& all) {
  std::set<std::string> texts;
  for (const Branches& branches : all) texts.insert(BranchesText(branches));
  return texts;
}

TEST(Branches, HeaderExample) {
  const auto run = []() -> absl::Status {
    ASSIGN_OR_RETURN(const Branches branches, ParseBranches("3,2", /*most_rows=*/32));
    EXPECT_EQ(DraftsOf(branches), 9);
    EXPECT_EQ(RowsOf(branches), 30);
    EXPECT_EQ(AcceptedOf(branches, {2, 0}), 2);
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(BranchesText(AllBranches(/*forecasts=*/3, /*rows=*/32)[0]), "15");
}

// The one-for-all paper, figure 3 and table 7: with 32 rows of an NPU.
TEST(Branches, ThePapersConfigurationsHaveItsRows) {
  for (const auto& [text, rows] : {std::pair("15", 32), {"1,8", 30}, {"2,3", 27}, {"3,2", 30}, {"4,1", 27}, {"1,1,5", 32}, {"1,2,2", 32},
                                   {"2,1,1", 28}, {"1,1,1,2", 30}}) {
    EXPECT_EQ(RowsOf(Must(ParseBranches(text, 32))), rows) << text;
    EXPECT_EQ(Texts(AllBranches(4, 32)).count(text), 1u) << text;
  }
}

// Against all lists of numbers.
TEST(Branches, AllConfigurationsAreMaximal) {
  for (const int rows : {3, 4, 9, 16, 32, 40}) {
    std::set<std::string> expected;
    for (int a = 1; a < rows; ++a) {
      for (int b = 0; b < rows; ++b) {
        for (int c = 0; c < (b == 0 ? 1 : rows); ++c) {
          Branches branches = {a};
          if (b > 0) branches.push_back(b);
          if (c > 0) branches.push_back(c);
          bool grows = false;
          for (int& one : branches) {
            ++one;
            grows = grows || RowsOf(branches) <= rows;
            --one;
          }
          if (!grows && RowsOf(branches) <= rows) expected.insert(BranchesText(branches));
        }
      }
    }
    EXPECT_EQ(Texts(AllBranches(3, rows)), expected) << rows;
  }
  EXPECT_TRUE(AllBranches(16, 3).empty());
  EXPECT_EQ(Texts(AllBranches(16, 4)), std::set<std::string>({"1"}));
}

TEST(Branches, AcceptedStopsAtTheFirstThatWasNotAmongThem) {
  const Branches branches = {3, 2, 1};
  EXPECT_EQ(AcceptedOf(branches, {2, 1, 0}), 3);
  EXPECT_EQ(AcceptedOf(branches, {2, 2, 0}), 1);
  EXPECT_EQ(AcceptedOf(branches, {3, 0, 0}), 0);
  EXPECT_EQ(AcceptedOf(branches, {0, 0, 1, 7}), 2);
}

TEST(Branches, AnInvalidConfigurationIsRefused) {
  const auto refused = [](const std::string& text) {
    const absl::Status status = ParseBranches(text, 32).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(status.message());
  };
  const std::string numbers = ", expected 1 to 8 numbers of 1 to 64 with commas between, such as 3,2";
  for (const std::string text : {"", "x", "3,", ",3", "3;2", "0", "-1", "65", "1e9", "1,1,1,1,1,1,1,1,1", "99999999999999999999"}) {
    EXPECT_EQ(refused(text), "branches: found \"" + text + "\"" + numbers);
  }
  EXPECT_EQ(refused("3,3"),
            "branches: found \"3,3\", expected at most 32 rows: the root and 12 drafts, each with 2 forecasts, are 39");
  EXPECT_EQ(refused("16"), "branches: found \"16\", expected at most 32 rows: the root and 16 drafts, each with 1 forecast, are 34");
  EXPECT_EQ(refused("64,64,64,64,64,64,64,64").substr(0, 41), "branches: found \"64,64,64,64,64,64,64,64\"");
}

}  // namespace
}  // namespace tessera
