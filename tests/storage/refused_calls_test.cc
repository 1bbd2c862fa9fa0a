// File systems and containers that refuse calls which files are written and memory is taken with: all is done without them.
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/file.h"
#include "tessera/storage/internal/disk_extents.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int kRefusals[] = {EPERM, EACCES, EINVAL, ENOSYS, EOPNOTSUPP};

class RefusedCallsDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters: " << std::strerror(errno);
    if (kThreadSanitized) GTEST_SKIP() << "it allows no threads after a fork";
    Must(WriteFileAtomically(path_, "old"));
  }

  // A death test runs in a process of its own, from the beginning: what it writes is looked at there.
  // Ends the process: 0 if the status is OK, else its message is told. Told before are the file, its mode, and how many files there are.
  [[noreturn]] void End(const absl::Status& status) const {
    struct stat found;
    PCHECK(stat(path_.c_str(), &found) == 0);
    std::cerr << ReadFileToString(path_, 1 << 20)->substr(0, 3) << ", mode " << std::oct << (found.st_mode & 0777) << std::dec << ", "
              << folder_.Files() << " file; " << (status.ok() ? "done" : status.message()) << "\n";
    _exit(status.ok() ? 0 : 1);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("file");
};

TEST_F(RefusedCallsDeathTest, WhereModesAreRefusedAFileIsReplacedAllTheSame) {
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  for (const int error : kRefusals) {
    EXPECT_EXIT({
      Restrict(SCMP_SYS(fchmod), SCMP_ACT_ERRNO(static_cast<unsigned>(error)));
      End(WriteFileAtomically(path_, "new"));
    }, testing::ExitedWithCode(0), "new, mode 600, 1 file; done") << std::strerror(error);
  }
}

// Filters that are older than faccessat2 and statx.
TEST_F(RefusedCallsDeathTest, ANewFormOfACallThatIsRefusedHasAnOldOne) {
  for (const int call : {SCMP_SYS(faccessat2), SCMP_SYS(statx)}) {
    for (const int error : {EPERM, ENOSYS}) {
      EXPECT_EXIT({
        Restrict(call, SCMP_ACT_ERRNO(static_cast<unsigned>(error)));
        Must(CheckWritable(path_));
        End(WriteFileAtomically(path_, "new"));
      }, testing::ExitedWithCode(0), "new, mode .*, 1 file; done") << "system call " << call << ": " << std::strerror(error);
    }
  }
}

// A file system that makes files for all.
TEST_F(RefusedCallsDeathTest, WhereThatWouldOpenASecretToOthersTheOldFileStays) {
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  const auto open_to_all = [](pid_t, const seccomp_data& call) -> std::optional<int64_t> {
    PCHECK(fchmod(static_cast<int>(call.args[0]), 0644) == 0);
    return -EPERM;
  };
  EXPECT_EXIT(WithAnswers(SCMP_SYS(fchmod), open_to_all, [&] { End(WriteFileAtomically(path_, "new")); }), testing::ExitedWithCode(1),
              "old, mode 600, 1 file; .*/file: cannot keep the file's mode: Operation not permitted");
}

TEST_F(RefusedCallsDeathTest, WithoutPreallocationOrAdviceAPackedFileIsWhole) {
  const TsrSample sample = MakeTsrSample({5000, 100});
  for (const int call : {SCMP_SYS(fallocate), SCMP_SYS(sync_file_range), SCMP_SYS(fadvise64), SCMP_SYS(flock)}) {
    for (const int error : kRefusals) {
      EXPECT_EXIT({
        Restrict(call, SCMP_ACT_ERRNO(static_cast<unsigned>(error)));
        Must(WriteTsrSample(path_, sample));
        End(TsrReader::Open(path_).status());
      }, testing::ExitedWithCode(0), "1 file; done") << "system call " << call << ": " << std::strerror(error);
    }
  }
}

TEST_F(RefusedCallsDeathTest, AFileSystemWithoutExtentsLeavesTheirCountUnknown) {
  for (const int error : {EOPNOTSUPP, ENOTTY, EINVAL, EPERM, ENOSYS}) {
    EXPECT_EXIT({
      Restrict(SCMP_SYS(ioctl), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), {SCMP_A1(SCMP_CMP_EQ, FS_IOC_FIEMAP)});
      std::cerr << CountDiskExtents(path_) << " pieces\n";
      _exit(0);
    }, testing::ExitedWithCode(0), "-1 pieces") << std::strerror(error);
  }
  EXPECT_EQ(CountDiskExtents(folder_.Path("none")), -1);
}

// Hints about memory, and taking it at once.
TEST_F(RefusedCallsDeathTest, MemoryIsTakenWithoutAdvice) {
  for (const int error : kRefusals) {
    EXPECT_EXIT({
      Restrict(SCMP_SYS(madvise), SCMP_ACT_ERRNO(static_cast<unsigned>(error)));
      AlignedBuffer buffer = Must(AlignedBuffer::Allocate(int64_t{5} << 20, AlignedBuffer::Pages::kLarge));
      Must(buffer.PrepareForDevices());
      std::memset(buffer.data(), 1, buffer.size());
      // What cannot be given back stays: the caller counts it.
      End(absl::IsUnavailable(buffer.GiveBack(0, buffer.size())) ? absl::OkStatus() : absl::InternalError("given back"));
    }, testing::ExitedWithCode(0), "done") << std::strerror(error);
  }
}

TEST_F(RefusedCallsDeathTest, MemoryThatHasEndedIsNoRefusal) {
  EXPECT_EXIT({
    Restrict(SCMP_SYS(madvise), SCMP_ACT_ERRNO(ENOMEM), {SCMP_A2(SCMP_CMP_EQ, /*MADV_POPULATE_WRITE*/ 23)});
    AlignedBuffer buffer = Must(AlignedBuffer::Allocate(1 << 20, AlignedBuffer::Pages::kSmall));
    End(buffer.PrepareForDevices());
  }, testing::ExitedWithCode(1), "cannot back 1048576 bytes with memory: Cannot allocate memory");
}

}  // namespace
}  // namespace tessera
