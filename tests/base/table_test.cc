#include "tessera/base/table.h"

#include <sstream>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(Table, HeaderExample) {
  std::ostringstream out;
  Table table({{"model"}, {"tokens/s", Table::Align::kRight}});
  table.AddRow({"SmolLM2-135M", "92.4"});
  out << table.ToString();
  EXPECT_EQ(out.str(),
            "model         tokens/s\n"
            "------------  --------\n"
            "SmolLM2-135M      92.4\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({{"name"}, {"n", Table::Align::kRight}});
  table.AddRow({"größer", "1"});
  table.AddRow({"abcdef", "22"});
  EXPECT_EQ(table.ToString(),
            "name     n\n"
            "------  --\n"
            "größer   1\n"
            "abcdef  22\n");
}

TEST(Table, LinesHaveNoSpacesAtTheirEnd) {
  Table table({{"a"}, {"note"}});
  table.AddRow({"1", ""});
  table.AddRow({"2", "x"});
  EXPECT_EQ(table.ToString(), "a  note\n-  ----\n1\n2  x\n");
}

TEST(Table, ARowWithAnotherNumberOfCellsIsACheckFailure) {
  Table table({{"a"}, {"b"}});
  EXPECT_DEATH(table.AddRow({"only one"}), "Check failed");
  EXPECT_DEATH(Table({}), "Check failed");
}

}  // namespace
}  // namespace tessera
