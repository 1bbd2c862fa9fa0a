#include "tessera/base/named_text.h"

#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr NamedText kTexts[] = {{"one", "the first"}, {"two", ""}};

absl::StatusOr<std::string> Read(const std::string& name_or_path) { return ReadNamedText("text", name_or_path, kTexts, 10); }

TEST(NamedText, HeaderExample) {
  constexpr NamedText kProfiles[] = {{"ufs3.1", "speed { ... }"}, {"ufs4.0", "speed { ... }"}};
  const auto run = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const std::string text, ReadNamedText("flash profile", "ufs4.0", kProfiles, /*max_bytes=*/1 << 20));
    return text;
  };
  const absl::StatusOr<std::string> text = run();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "speed { ... }");
}

TEST(NamedText, ANameGivesItsTextWhateverItsSize) {
  EXPECT_EQ(NamesOf(kTexts), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(*Read("one"), "the first");
  EXPECT_EQ(*Read("two"), "");
  EXPECT_EQ(*ReadNamedText("text", "one", kTexts, /*max_bytes=*/1), "the first");
}

TEST(NamedText, AnyOtherNameIsThatOfAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("one");
  ASSERT_EQ(WriteFileAtomically(path, "the third"), absl::OkStatus());
  EXPECT_EQ(*Read(path), "the third");
  ASSERT_EQ(WriteFileAtomically(path, "longer than ten"), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Read(path).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Read(folder.path()).status()));
}

TEST(NamedText, AnUnknownNameIsRefusedWithTheNames) {
  for (const std::string missing : {"three", ""}) {
    const absl::Status status = Read(missing).status();
    EXPECT_TRUE(absl::IsNotFound(status));
    EXPECT_EQ(status.message(), "text: found \"" + missing + "\", expected a file or one of one, two");
  }
}

}  // namespace
}  // namespace tessera
