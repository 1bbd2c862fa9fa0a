#include "tessera/storage/internal/borrowed_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "tessera/base/checked_math.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

class BorrowedPagesTest : public testing::Test {
 protected:
  static constexpr int64_t kSize = (int64_t{3} << 20) + 5000;

  static constexpr uint64_t kSeed = 3;

  void SetUp() override {
    const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
    if (pages == nullptr || !pages->Hold(pages->bytes())) GTEST_SKIP() << folder_.path() << ": the system lends no files there";
  }

  static testing::AssertionResult IsContents(absl::Span<const std::byte> bytes) { return HoldsRandomBytes(bytes, 0, kSeed); }

  const TemporaryFolder folder_;
  const std::string path_ = WriteRandomFile(folder_.Path("file"), kSize, kSeed);  // In the cache: it was just written.
  const std::unique_ptr<RandomAccessFile> file_ = *RandomAccessFile::Open(path_);
};

TEST_F(BorrowedPagesTest, HeaderExample) {
  const RandomAccessFile& file = *file_;
  const auto Use = [&](absl::Span<const std::byte> some) { EXPECT_TRUE(IsContents(some)); };
  bool used = false;
  if (const std::unique_ptr<BorrowedPages> pages = BorrowedPages::Map(file.descriptor(), file.size())) {
    const absl::Span<const std::byte> some = pages->bytes().subspan(0, 2 << 20);
    if (pages->Hold(some)) Use(some), used = true;
  }
  EXPECT_TRUE(used);
}

TEST_F(BorrowedPagesTest, HoldsCachedBytesToTheLastByte) {
  const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
  ASSERT_NE(pages, nullptr);
  EXPECT_TRUE(pages->Hold(pages->bytes()));
  EXPECT_TRUE(IsContents(pages->bytes()));
  pages->Drop(pages->bytes());
  EXPECT_TRUE(IsContents(pages->bytes()));
}

TEST_F(BorrowedPagesTest, UncachedBytesAreNotFetched) {
  const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
  ASSERT_NE(pages, nullptr);
  DropFromPageCache(file_->descriptor());
  if (file_->CachedBytes() > 0) GTEST_SKIP() << "the file system keeps files in memory";
  EXPECT_FALSE(pages->Hold(pages->bytes()));
  EXPECT_EQ(file_->CachedBytes(), 0);
}

TEST_F(BorrowedPagesTest, APageThatTheCacheLostIsFetched) {
  const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
  ASSERT_NE(pages, nullptr);
  const auto lose = [&](int64_t from, int64_t bytes) {
    ASSERT_EQ(fsync(file_->descriptor()), 0);
    ASSERT_EQ(posix_fadvise(file_->descriptor(), from, bytes, POSIX_FADV_DONTNEED), 0);
  };
  for (const int64_t from : {int64_t{0}, int64_t{4096}, int64_t{1} << 20}) {
    lose(from, 4096);
    EXPECT_TRUE(pages->Hold(pages->bytes()));
    EXPECT_EQ(file_->CachedBytes(), AlignUp(kSize, 4096));
    EXPECT_TRUE(IsContents(pages->bytes()));
    pages->Drop(pages->bytes());
  }
  lose(0, kSize * 3 / 4);
  if (file_->CachedBytes() > kSize / 2) GTEST_SKIP() << "the file system keeps files in memory";
  EXPECT_FALSE(pages->Hold(pages->bytes()));
}

// Someone may have changed it before the lease was given.
TEST_F(BorrowedPagesTest, BytesThatTheFileNoLongerHasAreNotThere) {
  ASSERT_EQ(truncate(path_.c_str(), kSize / 2), 0);
  const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
  ASSERT_NE(pages, nullptr);
  EXPECT_FALSE(pages->Hold(pages->bytes()));
  EXPECT_FALSE(pages->Hold(pages->bytes().subspan(int64_t{2} << 20)));
  EXPECT_TRUE(pages->Hold(pages->bytes().first(1 << 20)));
}

TEST_F(BorrowedPagesTest, AFileThatSomeoneWritesToIsNotMapped) {
  for (const int flags : {O_WRONLY, O_RDWR}) {
    const int writer = open(path_.c_str(), flags);
    ASSERT_GE(writer, 0);
    EXPECT_EQ(BorrowedPages::Map(file_->descriptor(), kSize), nullptr);
    close(writer);
    EXPECT_NE(BorrowedPages::Map(file_->descriptor(), kSize), nullptr);
  }
  EXPECT_EQ(BorrowedPages::Map(file_->descriptor(), 0), nullptr);
}

// Also several at once: what they keep away is writing.
TEST_F(BorrowedPagesTest, AWriterWaitsUntilAllHaveReturnedTheFile) {
  const auto other = *RandomAccessFile::Open(path_);
  auto pages = BorrowedPages::Map(file_->descriptor(), kSize), more = BorrowedPages::Map(other->descriptor(), kSize);
  ASSERT_TRUE(pages != nullptr && more != nullptr && pages->Hold(pages->bytes()));
  std::atomic<bool> shortened = false;
  std::atomic<pid_t> thread = 0;
  std::thread writer([&] {
    thread = gettid();
    EXPECT_EQ(truncate(path_.c_str(), 1), 0);
    shortened = true;
  });
  const auto has_come_as_far_as_it_can = [&] { return shortened || IsAsleep(thread); };
  EXPECT_TRUE(Await(has_come_as_far_as_it_can));
  pages->Return();
  pages->Return();
  EXPECT_TRUE(Await(has_come_as_far_as_it_can));   // One that may go on is awake from the moment on at which the last has returned.
  EXPECT_FALSE(shortened);
  EXPECT_TRUE(IsContents(more->bytes()));
  more = nullptr;
  writer.join();
  EXPECT_TRUE(shortened);
}

TEST_F(BorrowedPagesTest, AWriterThatDoesNotWaitIsToldToTryAgain) {
  const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
  ASSERT_TRUE(pages != nullptr && pages->Hold(pages->bytes()));
  EXPECT_LT(open(path_.c_str(), O_WRONLY | O_TRUNC | O_NONBLOCK), 0);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_TRUE(IsContents(pages->bytes()));
  pages->Return();
  const int writer = open(path_.c_str(), O_WRONLY | O_NONBLOCK);
  EXPECT_GE(writer, 0);
  close(writer);
}

// What is put in its place is another file.
TEST_F(BorrowedPagesTest, ReplacingOrDeletingTheFileDoesNotWait) {
  const auto pages = BorrowedPages::Map(file_->descriptor(), kSize);
  ASSERT_TRUE(pages != nullptr && pages->Hold(pages->bytes()));
  EXPECT_EQ(WriteFileAtomically(path_, "another"), absl::OkStatus());
  EXPECT_TRUE(IsContents(pages->bytes()));
  EXPECT_EQ(unlink(path_.c_str()), 0);
  EXPECT_TRUE(IsContents(pages->bytes()));
}

}  // namespace
}  // namespace tessera
