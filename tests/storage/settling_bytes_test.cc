#include "tessera/storage/internal/settling_bytes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class SettlingBytesTest : public testing::Test {
 protected:
  static constexpr int64_t kSize = (int64_t{1} << 20) + 5000, kOffset = 65536;  // A multiple of any system's pages.
  static constexpr uint64_t kSeed = 4;

  const TemporaryFolder folder_;
  const std::string path_ = WriteRandomFile(folder_.Path("file"), kOffset + kSize, kSeed);
  const std::unique_ptr<RandomAccessFile> file_ = *RandomAccessFile::Open(path_);
};

TEST_F(SettlingBytesTest, HeaderExample) {
  const RandomAccessFile& file = *file_;
  size_t parsed = 0;
  const auto Parse = [&](absl::Span<const std::byte> bytes) { parsed = bytes.size(); };
  if (const std::shared_ptr<SettlingBytes> header = SettlingBytes::Map(file.descriptor(), /*offset=*/65536, /*size=*/5954)) {
    Parse(header->bytes());
    header->Settle();
  }
  EXPECT_EQ(parsed, 5954u);
}

TEST_F(SettlingBytesTest, StayInPlaceWhenTheFileGoes) {
  const auto settling = SettlingBytes::Map(file_->descriptor(), kOffset, kSize);
  ASSERT_NE(settling, nullptr);
  const absl::Span<const std::byte> bytes = settling->bytes();
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), kSize);
  EXPECT_TRUE(HoldsRandomBytes(bytes, kOffset, kSeed));
  EXPECT_TRUE(settling->Settle());
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  EXPECT_TRUE(HoldsRandomBytes(bytes, kOffset, kSeed));
  EXPECT_TRUE(settling->Settle());
  EXPECT_EQ(settling->bytes().data(), bytes.data());
  EXPECT_TRUE(HoldsRandomBytes(bytes, kOffset, kSeed));
}

TEST_F(SettlingBytesTest, AReaderMeanwhileFindsTheSame) {
  for (int round = 0; round < 10; ++round) {
    const auto settling = SettlingBytes::Map(file_->descriptor(), kOffset, kSize);
    ASSERT_NE(settling, nullptr);
    const std::vector<std::byte> expected(settling->bytes().begin(), settling->bytes().end());
    std::atomic<bool> settled = false;
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 3; ++reader) {
      readers.emplace_back([&] {
        do {
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), settling->bytes().begin()));
        } while (!settled);
      });
    }
    std::thread other([&] { EXPECT_TRUE(settling->Settle()); });
    EXPECT_TRUE(settling->Settle());
    other.join();
    settled = true;
    for (std::thread& reader : readers) reader.join();
  }
}

TEST_F(SettlingBytesTest, WithoutMemoryTheBytesStayTheFiles) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has its own needs of address space";
  const auto settling = SettlingBytes::Map(file_->descriptor(), kOffset, kSize);
  ASSERT_NE(settling, nullptr);
  const auto settle_without_memory = [&] {
    const rlimit none = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    const bool settled = setrlimit(RLIMIT_AS, &none) != 0 || settling->Settle();
    const bool whole = CounterRandom(kSeed, 0, kOffset / 8) == *reinterpret_cast<const uint64_t*>(settling->bytes().data());
    _exit(!settled && whole ? 0 : 1);
  };
  EXPECT_EXIT(settle_without_memory(), testing::ExitedWithCode(0), "");
}

TEST_F(SettlingBytesTest, UnmappableBytesAreAbsent) {
  EXPECT_EQ(SettlingBytes::Map(file_->descriptor(), 7, kSize), nullptr);
  EXPECT_EQ(SettlingBytes::Map(file_->descriptor(), 0, 0), nullptr);
  EXPECT_EQ(SettlingBytes::Map(-1, 0, kSize), nullptr);
}

}  // namespace
}  // namespace tessera
