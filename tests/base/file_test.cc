#include "tessera/base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

class FileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  const TemporaryFolder folder_;
};

absl::Span<std::byte> BytesOf(std::string& text) { return {reinterpret_cast<std::byte*>(text.data()), text.size()}; }

std::string Text(const RandomAccessFile& file) {
  std::string text(file.size(), '\0');
  EXPECT_EQ(file.Read(0, BytesOf(text)), absl::OkStatus());
  return text;
}

bool Mentions(const absl::Status& status, const std::string& text) { return status.ToString().find(text) != std::string::npos; }

absl::Status Example(const std::string& path, const std::string& report, absl::string_view text, absl::Span<std::byte> buffer) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  RETURN_IF_ERROR(file->Read(/*offset=*/128, buffer));
  RETURN_IF_ERROR(WriteFileAtomically(report, text));
  ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));
  RETURN_IF_ERROR(writer.Append(buffer));
  RETURN_IF_ERROR(writer.Commit());
  return absl::OkStatus();
}

TEST_F(FileTest, HeaderExample) {
  ASSERT_TRUE(WriteFileAtomically(Path("model"), std::string(128, 'a') + "12345").ok());
  std::string buffer(5, ' ');
  EXPECT_EQ(Example(Path("model"), Path("report.json"), "{}", BytesOf(buffer)), absl::OkStatus());
  EXPECT_EQ(buffer, "12345");
  EXPECT_EQ(*ReadFileToString(Path("model"), 10), "12345");
}

// A file of many pages, none of which is in the page cache; null where the system keeps files only in memory.
std::unique_ptr<RandomAccessFile> ColdFile(const std::string& path) {
  CHECK_EQ(WriteFileAtomically(path, std::string(1'000'003, 'x')), absl::OkStatus());
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
  std::unique_ptr<RandomAccessFile> file = *RandomAccessFile::Open(path);
  return file->CachedBytes() == 0 ? std::move(file) : nullptr;
}

void ReadPieces(const RandomAccessFile& file, int64_t begin, int64_t end, int64_t size) {
  for (std::string piece(size, ' '); begin < end; begin += size) {
    ASSERT_EQ(file.Read(begin, BytesOf(piece).first(std::min(size, end - begin))), absl::OkStatus());
  }
}

TEST_F(FileTest, ReadingLeavesNoCopyInThePageCache) {
  const auto file = ColdFile(Path("model"));
  if (file == nullptr) GTEST_SKIP() << folder_.path() << " lies in memory";
  EXPECT_EQ(Text(*file), std::string(file->size(), 'x'));
  EXPECT_EQ(file->CachedBytes(), 0);
  ReadPieces(*file, 100, file->size(), 70'001);  // Pages that two reads share go, too.
  EXPECT_EQ(file->CachedBytes(), 0);
}

TEST_F(FileTest, CachedPagesStayInThePageCache) {
  const auto file = ColdFile(Path("model"));
  if (file == nullptr) GTEST_SKIP() << folder_.path() << " lies in memory";
  constexpr int64_t kWarm = 100 * 4096;
  const int descriptor = open(Path("model").c_str(), O_RDONLY | O_CLOEXEC);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  std::string bytes(kWarm, ' ');
  ASSERT_EQ(pread(descriptor, bytes.data(), kWarm, 0), kWarm);
  close(descriptor);
  ASSERT_EQ(file->CachedBytes(), kWarm);
  ReadPieces(*file, 0, file->size(), 70'001);
  EXPECT_EQ(file->CachedBytes(), kWarm);
}

TEST_F(FileTest, WrittenContentsAreReadBackBothWays) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{1'000'003}}) {
    std::string contents(size, '\0');
    for (size_t i = 0; i < size; ++i) contents[i] = static_cast<char>(i * 7);
    ASSERT_TRUE(WriteFileAtomically(Path("file"), contents).ok());
    EXPECT_EQ(*ReadFileToString(Path("file"), static_cast<int64_t>(size)), contents);
    const absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(Path("file"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(Text(**file), contents);
  }
  EXPECT_EQ(folder_.Files(), 1);  // No temporary file is left.
}

TEST_F(FileTest, MissingFilesAreNotFoundWithTheirPath) {
  for (const absl::Status& status : {RandomAccessFile::Open(Path("none")).status(), ReadFileToString(Path("none"), 10).status()}) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_TRUE(Mentions(status, Path("none"))) << status;
    EXPECT_TRUE(Mentions(status, "No such file")) << status;
  }
}

TEST_F(FileTest, UnreadableFilesArePermissionDenied) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  ASSERT_TRUE(WriteFileAtomically(Path("secret"), "x").ok());
  ASSERT_EQ(chmod(Path("secret").c_str(), 0), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(RandomAccessFile::Open(Path("secret")).status()));
}

TEST_F(FileTest, DirectoriesFifosAndDevicesAreRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  alarm(20);  // A hang would end the test binary.
  const std::pair<std::string, std::string> cases[] = {
      {folder_.path(), "a directory"}, {Path("fifo"), "a FIFO"}, {"/dev/null", "a device"}};
  for (const auto& [path, kind] : cases) {
    for (const absl::Status& status :
         {RandomAccessFile::Open(path).status(), ReadFileToString(path, 10).status(), WriteFileAtomically(path, "x")}) {
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

TEST_F(FileTest, FilesWithAReportedSizeOfZeroAreReadToTheirEnd) {
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

TEST_F(FileTest, AReaderKeepsTheOldFileDuringAReplacement) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  const std::unique_ptr<RandomAccessFile> old = *RandomAccessFile::Open(Path("file"));
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
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(FileTest, AppendedBytesBecomeAFileOnCommit) {
  std::string pieces[] = {"one ", "", "two"};
  {
    AtomicFileWriter writer = *AtomicFileWriter::Create(Path("file"));
    for (std::string& piece : pieces) ASSERT_EQ(writer.Append(BytesOf(piece)), absl::OkStatus());
    EXPECT_FALSE(std::filesystem::exists(Path("file")));
    ASSERT_EQ(writer.Commit(), absl::OkStatus());
  }
  EXPECT_EQ(*ReadFileToString(Path("file"), 100), "one two");
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(FileTest, AWriterThatIsGivenUpLeavesNothing) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "old").ok());
  {
    AtomicFileWriter writer = *AtomicFileWriter::Create(Path("file"));
    ASSERT_TRUE(writer.Append(std::vector<std::byte>(1000)).ok());
    EXPECT_EQ(folder_.Files(), 2);
  }
  EXPECT_EQ(*ReadFileToString(Path("file"), 10), "old");
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(FileTest, SeveralFilesAreWrittenAtOnceButNotAnyNumber) {
  std::vector<AtomicFileWriter> writers;
  for (int i = 0; i < AtomicFileWriter::kMostAtOnce; ++i) writers.push_back(*AtomicFileWriter::Create(Path(std::to_string(i))));
  EXPECT_TRUE(absl::IsResourceExhausted(WriteFileAtomically(Path("more"), "x")));
  EXPECT_EQ(writers[3].Commit(), absl::OkStatus());
  EXPECT_TRUE(WriteFileAtomically(Path("more"), "x").ok());
  writers.clear();
  EXPECT_EQ(folder_.Files(), 2);
}

TEST_F(FileTest, PathsThatCannotBeWrittenAreErrorsWithThePath) {
  EXPECT_TRUE(absl::IsNotFound(WriteFileAtomically(Path("none/file"), "x")));
  EXPECT_FALSE(WriteFileAtomically("", "x").ok());
  EXPECT_FALSE(WriteFileAtomically(Path("none/"), "x").ok());
  ASSERT_EQ(symlink("ring", Path("ring").c_str()), 0);
  EXPECT_TRUE(Mentions(WriteFileAtomically(Path("ring"), "x"), "ring"));
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(FileTest, ADanglingLinkStaysAndItsTargetIsMade) {
  ASSERT_EQ(symlink("nowhere", Path("dangling").c_str()), 0);
  EXPECT_TRUE(WriteFileAtomically(Path("dangling"), "x").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("dangling")));
  EXPECT_EQ(*ReadFileToString(Path("nowhere"), 10), "x");
}

TEST_F(FileTest, AFileThatMayNotBeWrittenIsNotReplaced) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes everything";
  ASSERT_TRUE(WriteFileAtomically(Path("kept"), "x").ok());
  ASSERT_EQ(chmod(Path("kept").c_str(), 0400), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(WriteFileAtomically(Path("kept"), "y")));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckWritable(Path("kept"))));
}

TEST_F(FileTest, ReadsPastTheEndReportTheMissingBytes) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "0123456789").ok());
  const std::unique_ptr<RandomAccessFile> file = *RandomAccessFile::Open(Path("file"));
  std::string part(4, ' ');
  EXPECT_EQ(file->Read(6, BytesOf(part)), absl::OkStatus());
  EXPECT_EQ(part, "6789");
  EXPECT_EQ(file->Read(100, {}), absl::OkStatus());
  EXPECT_EQ(file->Read(8, BytesOf(part)), absl::DataLossError(Path("file") + ": the file ends before byte 10, expected 2 bytes more: it "
                                                                             "had 10 bytes when it was opened"));
}

TEST_F(FileTest, AFileThatAnotherProcessShortensIsAnError) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), std::string(100'000, 'a')).ok());
  const std::unique_ptr<RandomAccessFile> file = *RandomAccessFile::Open(Path("file"));
  std::filesystem::resize_file(Path("file"), 50'000);
  std::string part(60'000, ' ');
  EXPECT_TRUE(absl::IsDataLoss(file->Read(0, BytesOf(part))));
  EXPECT_EQ(file->size(), 100'000);
}

TEST_F(FileTest, WritableIsKnownBeforeTheWork) {
  EXPECT_TRUE(CheckWritable(Path("file")).ok());
  EXPECT_FALSE(CheckWritable(folder_.path()).ok());
  const absl::Status missing = CheckWritable("/nowhere/file");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
  EXPECT_NE(missing.message().find("/nowhere/"), std::string::npos) << missing;
}

// A handler of a signal that ends the process calls it, wherever the write stands. The first signal waits for a whole file, which says
// how much of the CPU the child takes for it; the others come before, and a little after.
TEST_F(FileTest, RemoveTemporaryFilesLeavesOnlyWholeFiles) {
  const std::string contents(8 << 20, 'x');
  int64_t nanos = 0;
  for (int i = 0; i < 25; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGTERM, [](int) {
        RemoveTemporaryFiles();
        _exit(0);
      });
      while (WriteFileAtomically(Path("whole"), contents).ok()) continue;
      _exit(1);
    }
    int status;
    if (i == 0) {
      EXPECT_TRUE(Await([&] { return access(Path("whole").c_str(), F_OK) == 0; }));
      nanos = CpuNanosOfProcess(child);
    }
    EXPECT_TRUE(Await([&] { return CpuNanosOfProcess(child) >= nanos * i / 20; }));
    kill(child, SIGTERM);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "it could not write";
    ASSERT_EQ(folder_.Files(), 1);
    const absl::StatusOr<std::string> read = ReadFileToString(Path("whole"), 1 << 30);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), contents.size());
  }
}

}  // namespace
}  // namespace tessera
