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

TEST(Table, ARowIsOneLineWhateverItsCellsHold) {
  Table table({{"piece"}, {"n", Table::Align::kRight}});
  table.AddRow({"a\nb", "1"});
  table.AddRow({"\x1b[2J\xe2", "22"});
  EXPECT_EQ(table.ToString(),
            "piece         n\n"
            "-----------  --\n"
            "a\\nb          1\n"
            "\\x1b[2J\\xe2  22\n");
}

// What is printed grows with the cells, not with the longest of them times the rows.
TEST(Table, OneLongCellDoesNotWidenTheOtherLines) {
  const std::string longest(65'535, 'x'), rule(80, '-'), space(79, ' ');
  for (const Table::Align align : {Table::Align::kLeft, Table::Align::kRight}) {
    Table table({{"a", align}, {"b"}});
    table.AddRow({longest, "1"});
    table.AddRow({"y", "2"});
    const auto padded = [&](const std::string& cell) { return align == Table::Align::kLeft ? cell + space : space + cell; };
    EXPECT_EQ(table.ToString(), padded("a") + "  b\n" + rule + "  -\n" + longest + "  1\n" + padded("y") + "  2\n");
  }
}

TEST(Table, ARowWithAnotherNumberOfCellsIsACheckFailure) {
  Table table({{"a"}, {"b"}});
  EXPECT_DEATH(table.AddRow({"only one"}), "Check failed");
  EXPECT_DEATH(Table({}), "Check failed");
}

}  // namespace
}  // namespace tessera
