// What must be said of .tsr files that are none, and what is not asked of those that are.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/peak_memory.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/bad_tsr_files.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class TsrBadInput : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<TsrReader>> Open(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return TsrReader::Open(path_);
  }

  const TemporaryFolder folder_{TemporaryFolder::InMemory()};
  const std::string path_ = folder_.Path("model.tsr");
};

using TsrBadInputDeathTest = TsrBadInput;

TEST_F(TsrBadInput, EachIsRefusedInTheWordsWritten) {
  std::set<std::string> names;
  for (const BadTsr& file : BadTsrFiles()) {
    EXPECT_TRUE(names.insert(file.name).second) << file.name;
    const absl::Status status = Open(file.bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsDataLoss(status)) << file.name << ": " << status;
    EXPECT_EQ(std::string(status.message()), absl::StrCat(path_, ": ", file.message)) << file.name;
  }
  EXPECT_GE(names.size(), 80u);
}

TEST_F(TsrBadInput, TheGoodFileEqualsTheWritersOutput) {
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({5000, 100})), absl::OkStatus());
  EXPECT_EQ(*ReadFileToString(path_, 1 << 20), SmallTsr().Build());
}

// What a later minor version may add.
TEST_F(TsrBadInput, UnknownOptionalFieldsAreIgnored) {
  TsrBuilder builder = SmallTsr();
  builder.manifest_bytes = builder.manifest.SerializeAsString() + std::string("\xf2\x06\x03xyz", 6);  // Field 110: three bytes.
  builder.change_superblock = [](Superblock& superblock) {
    superblock.minor = 7;
    superblock.reserved[10] = std::byte{1};
  };
  const auto reader = Open(builder.Build());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->minor_version(), 7);
  EXPECT_EQ(*ReadUnitOf(**reader, 1), MakeTsrSample({5000, 100}).units[1]);
}

// A file system that has lost the end of a file, and says the size that it had.
TEST_F(TsrBadInputDeathTest, AFileThatEndsBeforeItsSizeSaysIsRefused) {
  if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters: " << std::strerror(errno);
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({5000, 100})), absl::OkStatus());
  for (const int64_t end : {0, 4095, 4096, 8192, 131072, 139264, 143359}) {
    const auto cut = [end](pid_t, const seccomp_data& call) -> std::optional<int64_t> {
      const int64_t offset = static_cast<int64_t>(call.args[3]), left = std::max<int64_t>(end - offset, 0);
      if (left >= static_cast<int64_t>(call.args[2])) return std::nullopt;
      return syscall(SYS_pread64, call.args[0], call.args[1], left, offset);  // No sanitizer sees it, or knows that the caller waits.
    };
    const auto open = [&] {
      const absl::Status status = TsrReader::Open(path_).status();
      std::cerr << status << "\n";
      _exit(absl::IsDataLoss(status) ? 0 : 1);
    };
    EXPECT_EXIT(WithAnswers(SCMP_SYS(pread64), cut, open), testing::ExitedWithCode(0),
                absl::StrCat("model.tsr: the file ends before byte ", end < 4096 ? end : std::max<int64_t>(end, 139264), ", expected "));
  }
}

// 16 MiB of empty messages would be half a gigabyte of objects.
TEST_F(TsrBadInput, MemoryFollowsFromTheManifestsBytes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  std::string units(kLargestTsrManifest, '\0');
  for (size_t i = 0; i < units.size(); i += 2) units[i] = '\x1a';
  TsrBuilder builder = SmallTsr();
  builder.manifest_bytes = units;
  const std::string bytes = builder.Build();
  const int64_t before = *PeakMemoryBytes();
  const absl::Status status = Open(bytes).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_LT(*PeakMemoryBytes() - before, 2 * kLargestTsrManifest);
}

TEST_F(TsrBadInput, MissingFilesAndFoldersAreNamed) {
  EXPECT_EQ(TsrReader::Open(folder_.Path("none")).status(),
            absl::NotFoundError(folder_.Path("none") + ": cannot open: No such file or directory"));
  EXPECT_EQ(TsrReader::Open(folder_.path()).status(),
            absl::InvalidArgumentError(folder_.path() + ": found a directory, expected a regular file"));
}

}  // namespace
}  // namespace tessera
