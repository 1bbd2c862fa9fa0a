#include "tessera/base/same_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class SameFile : public testing::Test {
 protected:
  SameFile() {
    EXPECT_TRUE(WriteFileAtomically(Path("model.gguf"), "m").ok());
    EXPECT_TRUE(WriteFileAtomically(Path("other"), "m").ok());
    EXPECT_EQ(symlink("model.gguf", Path("link_to_model").c_str()), 0);
    EXPECT_EQ(link(Path("model.gguf").c_str(), Path("hard").c_str()), 0);
  }
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  const TemporaryFolder folder_;
};

TEST_F(SameFile, HeaderExample) {
  EXPECT_TRUE(IsSameFile(Path("model.gguf"), Path("link_to_model")));
  EXPECT_FALSE(IsOpenAs(STDOUT_FILENO, Path("model.gguf")));
}

TEST_F(SameFile, IsKnownByAnyName) {
  for (const char* name : {"model.gguf", "link_to_model", "hard", "./model.gguf"}) {
    EXPECT_TRUE(IsSameFile(Path("model.gguf"), Path(name))) << name;
    EXPECT_FALSE(IsSameFile(Path("other"), Path(name))) << name;
  }
}

TEST_F(SameFile, IsKnownBeforeTheFileExists) {
  ASSERT_EQ(symlink("new", Path("dangling").c_str()), 0);
  EXPECT_TRUE(IsSameFile(Path("new"), Path("./new")));
  EXPECT_TRUE(IsSameFile(Path("new"), Path("dangling")));
  EXPECT_FALSE(IsSameFile(Path("new"), Path("newer")));
  EXPECT_FALSE(IsSameFile(Path("new"), Path("model.gguf")));
  EXPECT_FALSE(IsSameFile("/nowhere/new", "/nowhere/new")) << "it cannot be made";
}

TEST_F(SameFile, OnlyRegularFilesCount) {
  EXPECT_FALSE(IsSameFile("/dev/null", "/dev/null"));
  EXPECT_FALSE(IsSameFile(folder_.path(), folder_.path()));
  EXPECT_FALSE(IsSameFile("", ""));
}

TEST_F(SameFile, AnOpenFileIsKnownByItsPaths) {
  const int descriptor = open(Path("hard").c_str(), O_RDONLY);
  EXPECT_TRUE(IsOpenAs(descriptor, Path("link_to_model")));
  EXPECT_TRUE(IsOpenAs(descriptor, "/dev/fd/" + std::to_string(descriptor)));
  EXPECT_FALSE(IsOpenAs(descriptor, Path("other")));
  close(descriptor);
  EXPECT_FALSE(IsOpenAs(descriptor, Path("link_to_model")));
}

TEST_F(SameFile, AnOpenFileLiesInTheFoldersOfItsNames) {
  ASSERT_EQ(mkdir(Path("below").c_str(), 0700), 0);
  ASSERT_EQ(link(Path("other").c_str(), Path("below/other").c_str()), 0);
  const int model = open(Path("link_to_model").c_str(), O_RDONLY), other = open(Path("other").c_str(), O_RDONLY);
  EXPECT_TRUE(IsOpenIn(model, folder_.path()));
  EXPECT_FALSE(IsOpenIn(model, Path("below")));
  EXPECT_TRUE(IsOpenIn(other, Path("below")));
  EXPECT_TRUE(LeadsInto(Path("below"), "/dev/fd/" + std::to_string(other)));
  EXPECT_TRUE(LiesIn(folder_.path(), "/proc/self/fd/" + std::to_string(model)));
  EXPECT_FALSE(LeadsInto("/dev/fd", "/dev/fd/" + std::to_string(model)));
  EXPECT_FALSE(IsOpenIn(model, "/nowhere"));
  close(model);
  close(other);
  EXPECT_FALSE(IsOpenIn(model, folder_.path()));
}

TEST_F(SameFile, LiesInItsFolderOnly) {
  EXPECT_TRUE(LiesIn(folder_.path(), Path("link_to_model")));
  EXPECT_FALSE(LiesIn(folder_.path(), Path("none")));
  EXPECT_FALSE(LiesIn("/", Path("model.gguf")));
  EXPECT_TRUE(LeadsInto(folder_.path(), Path("link_to_model")));
  EXPECT_TRUE(LeadsInto(folder_.path(), Path("none")));
  EXPECT_FALSE(LeadsInto(folder_.path(), folder_.path()));
  EXPECT_FALSE(LeadsInto("/", Path("none")));
}

}  // namespace
}  // namespace tessera
