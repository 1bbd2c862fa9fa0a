#include "tessera/base/quoted.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

TEST(Quoted, HeaderExample) {
  const std::string text = "unigram";
  EXPECT_EQ(absl::StrCat("found ", Quoted(text), ", expected BPE or SPM"), "found \"unigram\", expected BPE or SPM");
}

TEST(Quoted, NothingInATextReachesATerminalAsItIs) {
  EXPECT_EQ(Quoted("\x1b[2J\r\n\t"), "\"\\x1b[2J\\r\\n\\t\"");
  EXPECT_EQ(Quoted("say \"it\""), "\"say \\\"it\\\"\"");
  EXPECT_EQ(Quoted(absl::string_view("\0\x7f\xff", 3)), "\"\\x00\\x7f\\xff\"");
}

TEST(Quoted, ALongTextIsCut) {
  EXPECT_EQ(Quoted(std::string(64, 'a')), absl::StrCat("\"", std::string(64, 'a'), "\""));
  EXPECT_LT(Quoted(std::string(100'000, 'a')).size(), 100u);
}

TEST(Printable, KeepsTextAndLineBreaksAndEscapesAllElse) {
  EXPECT_EQ(Printable("Größe, 中文\nb"), "Größe, 中文\nb");
  EXPECT_EQ(Printable("a\x1b[2J\t\x7f"), "a\\x1b[2J\\x09\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b" "31m\xc2\xa0"), "\\xc2\\x9b31m\xc2\xa0") << "C1: the control sequence of one character";
  EXPECT_EQ(Printable("\x9b" "31m\xff\xc3"), "\\x9b31m\\xff\\xc3");
  EXPECT_EQ(Printable(absl::string_view("\0", 1)), "\\x00");
}

TEST(PrintableLine, HasNoLineBreak) {
  EXPECT_EQ(PrintableLine("a\n\nb\r"), "a\\n\\nb\\x0d");
  EXPECT_EQ(PrintableLine(PrintableLine("a\nb")), "a\\nb") << "escaped once";
}

TEST(IsPrintableUtf8, TakesTextWithoutControlCharacters) {
  EXPECT_TRUE(IsPrintableUtf8(""));
  EXPECT_TRUE(IsPrintableUtf8("blk.0.ffn_up.weight, Größe, 中文"));
  for (const char* text : {"a\nb", "\x1b[2J", "\x7f", "\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80"}) {
    EXPECT_FALSE(IsPrintableUtf8(text)) << text;
  }
  EXPECT_FALSE(IsPrintableUtf8(absl::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace tessera
