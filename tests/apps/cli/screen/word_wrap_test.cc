#include "tessera/apps/cli/screen/word_wrap.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"

namespace tessera {
namespace {

// The text in pieces of `size` bytes.
std::string Wrapped(absl::string_view text, int columns, size_t size = 1) {
  WordWrap wrap(columns);
  std::string shown;
  for (size_t i = 0; i < text.size(); i += size) shown += wrap.Add(text.substr(i, size));
  return shown + wrap.Finish();
}

TEST(WordWrap, HeaderExample) {
  WordWrap wrap(/*columns=*/20);
  EXPECT_EQ(wrap.Add("The capital of Fra"), "The capital of");
  EXPECT_EQ(wrap.Add("nce is Paris."), "\nFrance is");
  EXPECT_EQ(wrap.Finish(), " Paris.");
}

TEST(WordWrap, LinesDoNotDependOnHowTheTextIsSplit) {
  const std::string text = "  if (a):\n\treturn  b  # größe \u4e2d\u6587\u4e2d\u6587 \U0001F600\uFE0F e\u0301e\u0301\n\n" +
                           std::string(50, '-') + " end \xff.";
  for (int columns : {1, 2, 7, 16, 80}) {
    const std::string whole = Wrapped(text, columns, text.size());
    for (size_t size : {1, 2, 3, 5}) EXPECT_EQ(Wrapped(text, columns, size), whole) << columns;
  }
}

TEST(WordWrap, ALineThatFitsIsUnchanged) {
  const std::string text = "  if (a):\n\treturn  b  # größe\n\n    \u4e2d\u6587 c";
  EXPECT_EQ(Wrapped(text, 80), text);
  EXPECT_EQ(Wrapped("12345 789", 9), "12345 789");
}

TEST(WordWrap, ABreakTakesThePlaceOfBlanks) {
  EXPECT_EQ(Wrapped("one two   three", 7), "one two\nthree");
  EXPECT_EQ(Wrapped("one two three four", 9), "one two\nthree\nfour");
  EXPECT_EQ(Wrapped("a\tb", 8), "a\nb") << "a tab leads to column 8";
  EXPECT_EQ(Wrapped("a\tb", 9), "a\tb");
}

TEST(WordWrap, AWordLongerThanALineIsLeftToTheTerminal) {
  EXPECT_EQ(Wrapped("see aaaaaaaaaaaa b c", 5), "see\naaaaaaaaaaaa b\nc") << "the terminal's third line is \"aa b\"";
  WordWrap wrap(5);
  EXPECT_EQ(wrap.Add("see aaaaa"), "see");
  EXPECT_EQ(wrap.Add("aaa"), "\naaaaaaaa") << "once it cannot fit, it is shown as it comes";
  EXPECT_EQ(wrap.Add("a"), "a");
}

TEST(WordWrap, AWideCharacterTakesTwoColumns) {
  EXPECT_EQ(Wrapped("\u4e2d\u6587\u4e2d\u6587\u4e2d", 4), "\u4e2d\u6587\n\u4e2d\u6587\n\u4e2d");
  EXPECT_EQ(Wrapped("e\u0301e\u0301e\u0301 e\u0301", 5), "e\u0301e\u0301e\u0301 e\u0301") << "marks that combine take none";
  EXPECT_EQ(ColumnsOf(U'中'), 2);
  EXPECT_EQ(ColumnsOf(U'\u0301'), 0);
  EXPECT_EQ(ColumnsOf(U'ö'), 1);
}

TEST(WordWrap, ATextCannotControlTheTerminal) {
  EXPECT_EQ(Wrapped("\x1b[31mred\x07\r\u009b", 80), "\\x1b[31mred\\x07\\x0d\\x9b");
  EXPECT_EQ(Wrapped("a\x9b" "31m\xff", 80), "a\\x9b31m\\xff") << "bytes that are not UTF-8";
  EXPECT_EQ(Wrapped("a \xf0\x1b[", 80), "a \\xf0\\x1b[") << "the end is the beginning of a character";
  EXPECT_EQ(Wrapped("ab \xc3", 6), "ab\n\\xc3") << "four columns each";
}

TEST(WordWrap, TheNextTextBeginsALine) {
  WordWrap wrap(10);
  wrap.Add("12345678 ");
  wrap.Finish();
  EXPECT_EQ(wrap.Add("abc def"), "abc");
  EXPECT_EQ(wrap.Finish(), " def");
}

}  // namespace
}  // namespace tessera
