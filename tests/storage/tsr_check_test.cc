#include "tessera/storage/tsr_check.h"

#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_builder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

class FindDamageTest : public testing::Test {
 protected:
  // The file with the bytes at `places` changed.
  std::vector<TsrDamage> Damaged(const std::vector<int64_t>& places) {
    EXPECT_EQ(WriteTsrSample(path_, MakeTsrSample({5000, 3 * kTsrBlockBytes, 70})), absl::OkStatus());
    std::string bytes = *ReadFileToString(path_, int64_t{1} << 24);
    for (int64_t place : places) bytes[place] ^= 4;
    std::ofstream(path_, std::ios::binary) << bytes;
    reader_ = *TsrReader::Open(path_);
    last_ = {-1, -1};
    return FindDamage(*reader_, pool_, [this](int64_t done, int64_t total) { last_ = {done, total}; });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
  ThreadPool pool_{3};
  std::unique_ptr<TsrReader> reader_;
  std::pair<int64_t, int64_t> last_;
};

TEST_F(FindDamageTest, HeaderExample) {
  Damaged({});
  const TsrReader* reader = reader_.get();
  ThreadPool& pool = pool_;
  int shown = 0;
  const auto Show = [&](const absl::Status&) { ++shown; };
  for (const TsrDamage& damage : FindDamage(*reader, pool, [](int64_t done, int64_t total) {})) Show(damage.status);
  EXPECT_EQ(shown, 0);
}

TEST_F(FindDamageTest, ASoundFileHasNoneAndIsReadToItsEnd) {
  EXPECT_TRUE(Damaged({}).empty());
  EXPECT_EQ(last_.first, 8192 + 3 * kTsrBlockBytes + 4096);
  EXPECT_EQ(last_.second, last_.first);
}

// Made on purpose: the checksums are right, and the sums are another file's.
TEST_F(FindDamageTest, ABlockThatHasNotTheSumOfItsManifestIsFound) {
  TsrBuilder builder(MakeTsrSample({5000, 70}));
  std::string& sum = *builder.manifest.mutable_units(1)->mutable_block_sums();
  sum[31] = static_cast<char>(sum[31] ^ 1);
  std::ofstream(path_, std::ios::binary) << builder.Build();
  const auto reader = *TsrReader::Open(path_);
  EXPECT_TRUE(ReadUnitOf(*reader, 1).ok()) << "reading compares checksums alone";
  const std::vector<TsrDamage> found = FindDamage(*reader, pool_, [](int64_t, int64_t) {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].unit, 1);
  EXPECT_TRUE(absl::StrContains(found[0].status.message(), "unit 1, unit1.a, byte 131072 of the file: SHA-256 of block 1: found "))
      << found[0].status;
}

TEST_F(FindDamageTest, EveryDamagedPartIsFound) {
  Damaged({});
  const int64_t unit = reader_->UnitOffset(1), copy = reader_->file_bytes() - 2 * kTsrPage;
  const std::vector<TsrDamage> found = Damaged({copy + 3, 8192 + 10, reader_->UnitOffset(0) + 8191, unit + 7, unit + 8,
                                                unit + 2 * kTsrBlockBytes, reader_->UnitOffset(2)});
  ASSERT_EQ(found.size(), 6u);
  EXPECT_TRUE(absl::StrContains(found[0].status.message(), absl::StrCat("manifest at byte ", copy)));
  EXPECT_TRUE(absl::StrContains(found[1].status.message(), "attachment \"config\""));
  const std::pair<int, int64_t> places[] = {
      {0, reader_->UnitOffset(0)}, {1, unit}, {1, unit + 2 * kTsrBlockBytes}, {2, reader_->UnitOffset(2)}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(found[2 + i].unit, places[i].first);
    EXPECT_EQ(found[2 + i].offset, places[i].second);
    EXPECT_TRUE(absl::IsDataLoss(found[2 + i].status));
  }
}

}  // namespace
}  // namespace tessera
