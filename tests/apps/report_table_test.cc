// A report's table as text: its title, its columns with texts to the left and numbers to the right, its notes.
#include "tessera/apps/reproduce/report_table.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ReportTable, HeaderExample) {
  const ReportTable table = {.title = "Ablation", .notes = {"ms per token."}, .columns = {"system", "ms"}, .rows = {{"NPU", "57.4"}}};
  EXPECT_EQ(ReportTableText(table),
            "Ablation\n\n"
            "system    ms\n"
            "------  ----\n"
            "NPU     57.4\n"
            "ms per token.\n\n");
}

TEST(ReportTable, SoManyColumnsFromTheLeftAreTexts) {
  const ReportTable table = {.title = "t", .columns = {"aaa", "bbb"}, .texts = 2, .rows = {{"a", "b"}}};
  EXPECT_EQ(ReportTableText(table), "t\n\naaa  bbb\n---  ---\na    b\n\n");
}

}  // namespace
}  // namespace tessera
