#include "tessera/base/quoted.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(Quoted, HeaderExample) {
  const std::string text = "WPM";
  EXPECT_EQ(absl::StrCat("found ", Quoted(text), ", expected BPE or SPM"), "found \"WPM\", expected BPE or SPM");
}

TEST(Quoted, ControlCharactersAreEscapedAndLongTextsCut) {
  EXPECT_EQ(Quoted("\x1b[2J\n"), "\"\\x1b[2J\\n\"");
  EXPECT_LT(Quoted(std::string(1000, 'a')).size(), 80u);
}

TEST(Quoted, PrintableIsUtf8WithoutControlCharacters) {
  EXPECT_TRUE(IsPrintableUtf8("blk.0.größe"));
  EXPECT_FALSE(IsPrintableUtf8(absl::string_view("a\0b", 3)));
  EXPECT_FALSE(IsPrintableUtf8("a\x80"));
  EXPECT_FALSE(IsPrintableUtf8("a\n"));
}

}  // namespace
}  // namespace tessera
