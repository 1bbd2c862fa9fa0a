// A report's table as text and on a page: its title, its columns with texts to the left and numbers to the right, its notes.
#include "tessera/apps/lab/scale/report/report_table.h"

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

TEST(ReportTable, LinesAreBrokenAtSpacesToFit) {
  const ReportTable table = {.title = "a title of words",
                             .notes = {"a note of words"},
                             .columns = {"what it was", "tokens per second"},
                             .rows = {{"a pass of one row", "57.4"}, {"loading", "6"}}};
  EXPECT_EQ(ReportTableText(table, 16),
            "a title of words\n\n"
            "         tokens\n"
            "what it     per\n"
            "was      second\n"
            "-------  ------\n"
            "a pass     57.4\n"
            "of one\n"
            "row\n"
            "loading       6\n"
            "a note of words\n\n");
  EXPECT_EQ(ReportTableText(table, 60), ReportTableText(table)) << "wide enough";
}

TEST(ReportTable, OnAPageTextsAreNoMarkup) {
  const ReportTable table = {.title = "<t>", .notes = {"<n>&"}, .columns = {"<c>", "ms"}, .rows = {{"<x>", "1"}}};
  EXPECT_EQ(ReportTableHtml(table),
            "<h2>&lt;t&gt;</h2>\n<table>\n<tr><th class=\"t n\">&lt;c&gt;</th><th>ms</th></tr>\n"
            "<tr><td class=\"t n\">&lt;x&gt;</td><td>1</td></tr>\n</table>\n<p>&lt;n&gt;&amp;</p>\n");
}

}  // namespace
}  // namespace tessera
