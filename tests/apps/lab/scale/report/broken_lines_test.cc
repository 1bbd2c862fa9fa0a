#include "tessera/apps/lab/scale/report/broken_lines.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Lines = std::vector<std::string>;

TEST(BrokenLines, HeaderExample) { EXPECT_EQ(BrokenLines("a pass of one row", 9), (Lines{"a pass of", "one row"})); }

TEST(BrokenLines, ATextThatFitsIsUnchanged) {
  EXPECT_EQ(BrokenLines("two  spaces ", 12), (Lines{"two  spaces "}));
  EXPECT_EQ(BrokenLines("", 5), (Lines{""}));
}

TEST(BrokenLines, CharactersCountAndNotBytes) {
  EXPECT_EQ(BrokenLines("größer 10", 9), (Lines{"größer 10"}));
  EXPECT_EQ(BrokenLines("größer 10", 8), (Lines{"größer", "10"}));
}

TEST(BrokenLines, ALongWordHasALineOfItsOwn) {
  EXPECT_EQ(BrokenLines("an unbreakable-word here", 6), (Lines{"an", "unbreakable-word", "here"}));
}

}  // namespace
}  // namespace tessera
