#include "tessera/base/file_version.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

class FileVersions : public testing::Test {
 protected:
  FileVersion Version(const std::string& path) const {
    absl::StatusOr<FileVersion> version = FileVersion::Of(path);
    EXPECT_TRUE(version.ok()) << version.status();
    return *std::move(version);
  }
  absl::Status Write(const std::string& text) const { return WriteFileAtomically(path_, text); }
  std::string Text() const { return ReadFileToString(path_, 1000).value_or("none"); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("story.session");
};

TEST_F(FileVersions, HeaderExample) {
  const std::string text = "new";
  const auto example = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(FileVersion version, FileVersion::Of(path_));
    RETURN_IF_ERROR(version.Replace([&] { return WriteFileAtomically(path_, text); }));
    return absl::OkStatus();
  };
  EXPECT_EQ(example(), absl::OkStatus());
  EXPECT_EQ(Text(), "new");
}

TEST_F(FileVersions, AFileWrittenByAnotherRunMeanwhileIsNotReplaced) {
  FileVersion none = Version(path_);
  ASSERT_TRUE(Write("one").ok());
  const absl::Status refused = none.Replace([&] { return Write("mine"); });
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_EQ(refused.message(), path_ + ": found a file written by another run meanwhile, expected none, as in the beginning");
  EXPECT_EQ(Text(), "one");
  FileVersion one = Version(path_);
  ASSERT_TRUE(Write("two").ok());
  EXPECT_EQ(one.Replace([&] { return Write("mine"); }).message(),
            path_ + ": found a file written by another run meanwhile, expected the one that was read");
  EXPECT_EQ(Text(), "two");
  FileVersion two = Version(path_);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_TRUE(absl::StrContains(two.Replace([&] { return Write("mine"); }).message(), "found no file"));
  EXPECT_EQ(Text(), "none");
}

TEST_F(FileVersions, AFileThatIsChangedInItsPlaceIsAnother) {
  ASSERT_TRUE(Write("one").ok());
  FileVersion version = Version(path_);
  const timespec times[] = {{1, 0}, {1, 1}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_FALSE(version.Replace([&] { return Write("mine"); }).ok());
}

TEST_F(FileVersions, ItsOwnWritingIsTheNewVersion) {
  FileVersion version = Version(path_);
  for (const std::string text : {"a", "b", "c"}) {
    EXPECT_EQ(version.Replace([&] { return Write(text); }), absl::OkStatus());
    EXPECT_EQ(Text(), text);
  }
  EXPECT_EQ(version.Replace([] { return absl::DataLossError("x"); }), absl::DataLossError("x"));
  EXPECT_EQ(version.Replace([&] { return Write("d"); }), absl::OkStatus()) << "nothing was written";
}

TEST_F(FileVersions, OneOfManyReadersOfTheSameVersionReplacesTheFile) {
  ASSERT_TRUE(Write("one").ok());
  const std::string link = folder_.Path("link");
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  std::vector<FileVersion> versions;
  for (int i = 0; i < 8; ++i) versions.push_back(Version(i % 2 == 0 ? path_ : link));
  std::vector<int> wrote(versions.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < versions.size(); ++i) {
    threads.emplace_back([&, i] { wrote[i] = versions[i].Replace([&] { return Write(absl::StrCat("by ", i)); }).ok(); });
  }
  for (std::thread& thread : threads) thread.join();
  int writers = 0;
  for (size_t i = 0; i < wrote.size(); ++i) {
    writers += wrote[i];
    EXPECT_TRUE(wrote[i] == 0 || Text() == absl::StrCat("by ", i));
  }
  EXPECT_EQ(writers, 1);
}

TEST_F(FileVersions, AFolderThatAnotherKeepsLockedIsNamedWithTheFile) {
  FileVersion version = Version(path_);
  const int other = open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const TickingClock clock(1'000'000'000);
  const absl::Status status = version.Replace([&] { return Write("mine"); }, {.clock = &clock});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), absl::StrCat(path_, ": not written: ", folder_.path(), "/: found its lock"))) << status;
  EXPECT_EQ(Text(), "none");
  close(other);
  EXPECT_EQ(version.Replace([&] { return Write("mine"); }), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
