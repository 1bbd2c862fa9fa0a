#include "tessera/base/file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "file_test_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  int64_t FilesInDirectory() const {
    return std::distance(std::filesystem::directory_iterator(directory_), std::filesystem::directory_iterator());
  }

  std::string directory_;
};

std::string Text(const MappedFile& file) { return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}; }

bool Mentions(const absl::Status& status, const std::string& text) { return status.ToString().find(text) != std::string::npos; }

size_t Parse(absl::Span<const std::byte> bytes) { return bytes.size(); }

absl::StatusOr<size_t> Example(const std::string& path, const std::string& report, absl::string_view text) {
  ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  const size_t parsed = Parse(file->bytes());
  RETURN_IF_ERROR(WriteFileAtomically(report, text));
  return parsed;
}

TEST_F(FileTest, HeaderExample) {
  ASSERT_TRUE(WriteFileAtomically(Path("model"), "12345").ok());
  EXPECT_EQ(*Example(Path("model"), Path("report.json"), "{}"), 5u);
}

TEST_F(FileTest, WhatIsWrittenIsReadBackBothWays) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{1'000'003}}) {
    std::string contents(size, '\0');
    for (size_t i = 0; i < size; ++i) contents[i] = static_cast<char>(i * 7);
    ASSERT_TRUE(WriteFileAtomically(Path("file"), contents).ok());
    EXPECT_EQ(*ReadFileToString(Path("file"), static_cast<int64_t>(size)), contents);
    const absl::StatusOr<std::unique_ptr<MappedFile>> mapped = MappedFile::Open(Path("file"));
    ASSERT_TRUE(mapped.ok()) << mapped.status();
    EXPECT_EQ(Text(**mapped), contents);
  }
  EXPECT_EQ(FilesInDirectory(), 1);  // No temporary file is left.
}

TEST_F(FileTest, MissingFilesAreNotFoundWithTheirPath) {
  for (const absl::Status& status : {MappedFile::Open(Path("none")).status(), ReadFileToString(Path("none"), 10).status()}) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_TRUE(Mentions(status, Path("none"))) << status;
    EXPECT_TRUE(Mentions(status, "No such file")) << status;
  }
}

TEST_F(FileTest, UnreadableFilesArePermissionDenied) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  ASSERT_TRUE(WriteFileAtomically(Path("secret"), "x").ok());
  ASSERT_EQ(chmod(Path("secret").c_str(), 0), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(MappedFile::Open(Path("secret")).status()));
}

TEST_F(FileTest, DirectoriesFifosAndDevicesAreRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  alarm(20);  // A hang would end the test binary.
  const std::pair<std::string, std::string> cases[] = {
      {directory_, "a directory"}, {Path("fifo"), "a FIFO"}, {"/dev/null", "a device"}};
  for (const auto& [path, kind] : cases) {
    for (const absl::Status& status :
         {MappedFile::Open(path).status(), ReadFileToString(path, 10).status(), WriteFileAtomically(path, "x")}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_TRUE(Mentions(status, kind)) << status;
    }
  }
  alarm(0);
}

TEST_F(FileTest, TooLargeIsResourceExhaustedWithFoundAndAllowed) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "12345").ok());
  EXPECT_TRUE(ReadFileToString(Path("file"), 5).ok());
  const absl::Status status = ReadFileToString(Path("file"), 4).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(Mentions(status, "found 5 bytes, expected at most 4")) << status;
}

TEST_F(FileTest, FilesThatSayTheyAreEmptyAreReadToTheirEnd) {
  const absl::StatusOr<std::string> status = ReadFileToString("/proc/self/status", 1 << 20);  // Its size is given as 0.
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_NE(status->find("VmHWM"), std::string::npos);
  EXPECT_TRUE(absl::IsResourceExhausted(ReadFileToString("/proc/self/status", 10).status()));
}

TEST_F(FileTest, ReplacingKeepsTheModeAndTheLink) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  ASSERT_EQ(chmod(Path("file").c_str(), 0640), 0);
  ASSERT_EQ(symlink("file", Path("link").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFileToString(Path("file"), 10), "new");
  struct stat found;
  ASSERT_EQ(stat(Path("file").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST_F(FileTest, AReaderKeepsTheOldFileWhileItIsReplaced) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  const std::unique_ptr<MappedFile> old = *MappedFile::Open(Path("file"));
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "new!").ok());
  EXPECT_EQ(Text(*old), "old");
  EXPECT_EQ(*ReadFileToString(Path("file"), 10), "new!");
}

// The disk fills up (here: a limit on file sizes, in a child process): the old file stays and no temporary one is left.
TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  const auto write_too_much = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = WriteFileAtomically(Path("file"), std::string(5000, 'x'));
    _exit(!status.ok() && Mentions(status, Path("file")) ? 0 : 1);
  };
  const pid_t child = fork();
  if (child == 0) write_too_much();
  int result;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(*ReadFileToString(Path("file"), 10), "old");
  EXPECT_EQ(FilesInDirectory(), 1);
}

TEST_F(FileTest, PathsThatCannotBeWrittenAreErrorsWithThePath) {
  EXPECT_TRUE(absl::IsNotFound(WriteFileAtomically(Path("none/file"), "x")));
  EXPECT_FALSE(WriteFileAtomically("", "x").ok());
  EXPECT_FALSE(WriteFileAtomically(Path("none/"), "x").ok());
  ASSERT_EQ(symlink("nowhere", Path("dangling").c_str()), 0);
  EXPECT_TRUE(Mentions(WriteFileAtomically(Path("dangling"), "x"), "dangling"));
  EXPECT_EQ(FilesInDirectory(), 1);
}

TEST_F(FileTest, ForgottenBytesComeBackFromTheFile) {
  std::string contents(100'000, 'a');
  ASSERT_TRUE(WriteFileAtomically(Path("file"), contents).ok());
  const std::unique_ptr<MappedFile> file = *MappedFile::Open(Path("file"));
  EXPECT_EQ(Text(*file), contents);
  const std::pair<int64_t, int64_t> ranges[] = {{0, 100'000}, {5, 10}, {99'999, 1}, {-5, 50'000}, {50'000, INT64_MAX},
                                                {200'000, 5}, {0, -1}};
  for (const auto& [begin, size] : ranges) {
    file->Forget(begin, size);
    EXPECT_EQ(Text(*file), contents) << begin << " " << size;
  }
}

TEST_F(FileTest, WritableIsKnownBeforeTheWork) {
  const std::string path = ::testing::TempDir() + "/file_test_writable";
  EXPECT_TRUE(CheckWritable(path).ok());
  EXPECT_FALSE(CheckWritable(::testing::TempDir()).ok());
  const absl::Status missing = CheckWritable("/nowhere/file");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
  EXPECT_NE(missing.message().find("/nowhere/"), std::string::npos) << missing;
}

}  // namespace
}  // namespace tessera
