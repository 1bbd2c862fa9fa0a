// Units that are read with nobody computing, timed and in the background.
#include "tessera/apps/bench/flash/reading_speed.h"

#include <gtest/gtest.h>

#include "tessera/storage/tsr_writer.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

constexpr int kUnits = 5;
constexpr int64_t kUnitBytes = 3 << 20;

class ReadingSpeedTest : public testing::Test {
 protected:
  void SetUp() override {
    TsrContents contents = {.layout = "bytes"};
    for (int i = 0; i < kUnits; ++i) contents.units.push_back({.bytes = kUnitBytes, .entries = {{"values", 0, kUnitBytes}}});
    absl::StatusOr<TsrWriter> writer = TsrWriter::Create(path_, contents);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const std::vector<std::byte> bytes(kUnitBytes, std::byte{7});
    for (int i = 0; i < kUnits; ++i) ASSERT_EQ(writer->Append(bytes), absl::OkStatus());
    ASSERT_TRUE(writer->Finish([](int64_t, int64_t) {}).ok());
    file_ = *TsrReader::Open(path_);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("units.tsr");
  std::unique_ptr<TsrReader> file_;
};

TEST_F(ReadingSpeedTest, HeaderExample) {
  const absl::StatusOr<ReadingSpeed> alone = TimeReading(*file_, {.io = IoKind::kAuto, .ring_bytes = 16 << 20, .least_bytes = 64 << 20});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_GT(alone->bytes_per_second, 0);
  EXPECT_GT(alone->core_share, 0);
  EXPECT_LT(alone->core_share, 16);
}

TEST_F(ReadingSpeedTest, NoMoreIsReadThanIsAllowed) {
  const absl::StatusOr<std::unique_ptr<BackgroundReader>> reader = BackgroundReader::Start(*file_, {.ring_bytes = 16 << 20});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(*(*reader)->bytes(), 0);
  (*reader)->Allow(2 * kUnits * kUnitBytes + 1);
  for (int more = 1; more <= 5; ++more) {   // Each time one unit more is read, since whole units are.
    const int64_t allowed = (2 * kUnits + more) * kUnitBytes;
    EXPECT_TRUE(Await([&] { return *(*reader)->bytes() >= allowed && OthersAreAsleep(); }));
    EXPECT_EQ(*(*reader)->bytes(), allowed) << more;
    (*reader)->Allow(1);
  }
}

TEST_F(ReadingSpeedTest, CancellingEndsTheReading) {
  const std::atomic<bool> cancel{true};
  EXPECT_EQ(TimeReading(*file_, {.ring_bytes = 16 << 20, .cancel = &cancel}).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tessera
