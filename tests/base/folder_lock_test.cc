#include "tessera/base/folder_lock.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

absl::Status AppendLine(const std::string& path, const std::string& line) {
  const absl::StatusOr<std::string> before = ReadFileToString(path, 1 << 20);
  return WriteFileAtomically(path, absl::StrCat(before.value_or(""), line, "\n"));
}

TEST(FolderLock, HeaderExample) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path(), line = "some";
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(WithFolderLocked(folder, [&] { return AppendLine(folder + "/list", line); }));
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(*ReadFileToString(folder + "/list", 100), "some\n");
}

TEST(FolderLock, NothingIsLostThatManyAdd) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        EXPECT_EQ(WithFolderLocked(folder.path(), [&] { return AppendLine(folder.Path("list"), "x"); }), absl::OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadFileToString(folder.Path("list"), 1 << 20)->size(), 2u * 4 * 25);
}

TEST(FolderLock, GivesTheErrorOfTheWorkAndTheFolderBack) {
  const TemporaryFolder folder;
  const absl::Status error = absl::DataLossError("spoiled");
  EXPECT_EQ(WithFolderLocked(folder.path(), [&] { return error; }), error);
  EXPECT_EQ(WithFolderLocked(folder.path(), [] { return absl::OkStatus(); }), absl::OkStatus());
  EXPECT_EQ(WithFolderLocked(folder.Path("none"), [] { return absl::OkStatus(); }).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera
