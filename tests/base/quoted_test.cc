#include "tessera/base/quoted.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

std::string Utf8Of(uint32_t code) {
  std::string text;
  const auto add = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
    return text;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  add((0xff00U >> (more + 1) & 0xffU) | code >> 6 * more);
  for (int i = more - 1; i >= 0; --i) add(0x80 | (code >> 6 * i & 0x3f));
  return text;
}

TEST(Quoted, HeaderExample) {
  const std::string text = "unigram";
  EXPECT_EQ(absl::StrCat("found ", Quoted(text), ", expected BPE or SPM"), "found \"unigram\", expected BPE or SPM");
}

TEST(Quoted, NoControlCharacterReachesATerminalUnescaped) {
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

// U+202E turns what stands after it: "exe.txt" would read "txt.exe".
TEST(Printable, CharactersThatTurnOrHideTextAreEscaped) {
  const std::vector<uint32_t> unseen = {
      0x00,   0x1f,   0x7f,   0x80,   0x9f,   0xad,   0x34f,  0x61c,  0x115f, 0x180e,  0x200b,  0x200d,  0x200e,  0x200f,  0x2028, 0x2029,
      0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069,  0x206f,  0x3164,  0xfe0f,  0xfeff,  0xfffb, 0xe0001,
      0xe0041, 0xe007f, 0xe0100};
  for (const uint32_t code : unseen) {
    const std::string character = Utf8Of(code), text = absl::StrCat("a", character, "b");
    EXPECT_FALSE(IsPrintableUtf8(text)) << code;
    for (const std::string& shown : {Printable(text), PrintableLine(text), Quoted(text)}) {
      EXPECT_FALSE(absl::StrContains(shown, character)) << code;
      EXPECT_TRUE(absl::StrContains(shown, "\\x") || absl::StrContains(shown, "\\0")) << shown;
    }
  }
  for (const uint32_t code : {0x20, 0xa0, 0x3b1, 0x5d0, 0x627, 0x200a, 0x2027, 0x202f, 0x205f, 0x2070, 0x4e2d, 0xfffd, 0x1f600, 0xe1000}) {
    EXPECT_EQ(Printable(Utf8Of(code)), Utf8Of(code)) << code;
  }
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
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
