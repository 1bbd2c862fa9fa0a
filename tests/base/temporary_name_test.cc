#include "tessera/base/internal/temporary_name.h"

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(TemporaryNames, HeaderExample) {
  const std::string name = TemporaryName("story.session", 1234, 3);
  EXPECT_TRUE(absl::StartsWith(name, ".tessera-1234-3-")) << name;
  EXPECT_TRUE(absl::EndsWith(name, "-story.session.tmp")) << name;
  EXPECT_TRUE(IsTemporaryName(name));
}

TEST(TemporaryNames, AreKnownWhateverTheFileIsNamed) {
  for (const std::string file : {"a", "-", "a-b--c", ".tmp", ".tessera-1-2-00000000-x.tmp", "a b\n", "\xC3\xA9", "\xFF\xFE"}) {
    EXPECT_TRUE(IsTemporaryName(TemporaryName(file, 1, 0))) << file;
    EXPECT_TRUE(IsTemporaryName(TemporaryName(file, INT32_MAX, INT64_MAX))) << file;
    EXPECT_NE(TemporaryName(file, 1, 0), TemporaryName(file, 1, 1));
  }
}

TEST(TemporaryNames, LongOnesAreCutBetweenCharacters) {
  for (int before = 0; before < 4; ++before) {
    std::string file(static_cast<size_t>(before), 'x');
    while (file.size() < 250) file += "\xE2\x82\xAC";
    const std::string name = TemporaryName(file, INT32_MAX, INT64_MAX);
    EXPECT_LE(name.size(), kLongestTemporaryName);
    EXPECT_TRUE(IsTemporaryName(name));
    EXPECT_TRUE(absl::EndsWith(name, "\xE2\x82\xAC.tmp")) << name;
  }
}

TEST(TemporaryNames, NoOtherNameIsTakenForOne) {
  const std::string name = TemporaryName("story", 12, 3);
  for (size_t i = 0; i < name.size(); ++i) {
    std::string other = name;
    other[i] = other[i] == '7' ? '8' : '7';
    EXPECT_FALSE(IsTemporaryName(other)) << other;
    EXPECT_FALSE(IsTemporaryName(name.substr(0, i))) << name.substr(0, i);
  }
  for (const std::string other : {"", ".tmp", ".tessera-", ".tessera-.tmp", ".tessera-notes.tmp", ".tessera-12-3.tmp", "story.tmp",
                                  ".tessera-12-3-story.tmp", ".tessera--1--1-00000000-.tmp"}) {
    EXPECT_FALSE(IsTemporaryName(other)) << other;
  }
  EXPECT_FALSE(IsTemporaryName(absl::StrCat(name, "~")));
  EXPECT_FALSE(IsTemporaryName(absl::StrCat(" ", name)));
}

}  // namespace
}  // namespace tessera
