#include "tessera/storage/tsr_reader.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/superblock.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

const std::vector<int64_t> kSizes = {5000, kTsrBlockBytes, 3 * kTsrBlockBytes + 100, 64, 1, 65536};

class TsrReaderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(WriteTsrSample(path_, sample_), absl::OkStatus()); }

  std::unique_ptr<TsrReader> Open() const {
    auto reader = TsrReader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  // Changes the byte at `offset` of the file.
  void Flip(int64_t offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.flush().good());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
  const TsrSample sample_ = MakeTsrSample(kSizes);
};

int64_t uses = 0;
void Use(const std::string&, absl::Span<std::byte> bytes) { uses += static_cast<int64_t>(bytes.size()); }

absl::Status Example(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<TsrReader> reader, TsrReader::Open(path));
  for (int unit = 0; unit < reader->units(); ++unit) {
    ASSIGN_OR_RETURN(AlignedBuffer bytes, AlignedBuffer::Allocate(reader->StoredBytes(unit)));
    RETURN_IF_ERROR(reader->ReadUnit(unit, bytes.bytes()));
    for (const TsrEntry& entry : reader->Entries(unit)) Use(entry.name, bytes.bytes().subspan(entry.offset, entry.bytes));
  }
  return absl::OkStatus();
}

TEST_F(TsrReaderTest, HeaderExample) {
  ASSERT_EQ(Example(path_), absl::OkStatus());
  EXPECT_GT(uses, 4 * kTsrBlockBytes);
}

TEST_F(TsrReaderTest, FindsTheWrittenContents) {
  const std::unique_ptr<TsrReader> reader = Open();
  EXPECT_EQ(reader->uuid(), kSampleUuid);
  EXPECT_EQ(reader->layout(), "sample-1");
  EXPECT_EQ(reader->path(), path_);
  EXPECT_EQ(reader->file_bytes(), static_cast<int64_t>(std::filesystem::file_size(path_)));
  ASSERT_EQ(reader->units(), static_cast<int>(kSizes.size()));
  for (int unit = 0; unit < reader->units(); ++unit) {
    EXPECT_EQ(reader->UnitBytes(unit), kSizes[unit]);
    EXPECT_TRUE(reader->Entries(unit) == absl::MakeConstSpan(sample_.contents.units[unit].entries)) << unit;
    const auto bytes = ReadUnitOf(*reader, unit);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*bytes, sample_.units[unit]) << unit;
  }
  EXPECT_EQ(*reader->ReadAttachment("config"), sample_.contents.attachments[0].bytes);
  EXPECT_EQ(reader->attachments()[0].whole_bytes, 5000);
  EXPECT_TRUE(reader->ReadAttachment("empty")->empty());
  EXPECT_TRUE(absl::IsNotFound(reader->ReadAttachment("none").status()));
}

// For programs that map the file.
TEST_F(TsrReaderTest, AnAttachmentsBytesAreCheckedInPlace) {
  const std::unique_ptr<TsrReader> reader = Open();
  const auto file = ReadFileToString(path_, 1 << 30);
  ASSERT_TRUE(file.ok()) << file.status();
  for (const char* name : {"config", "empty"}) {
    const auto [offset, bytes, stored_bytes] = *reader->PlaceOfAttachment(name);
    EXPECT_EQ(offset % kTsrPage, 0);
    EXPECT_EQ(stored_bytes, AlignUp(bytes, kTsrPage));
    const std::byte* const begin = reinterpret_cast<const std::byte*>(file->data()) + offset;
    std::vector<std::byte> stored(begin, begin + stored_bytes);
    EXPECT_EQ(reader->CheckAttachment(name, stored), absl::OkStatus());
    EXPECT_EQ(std::vector<std::byte>(stored.begin(), stored.begin() + bytes), *reader->ReadAttachment(name));
    if (stored.empty()) continue;
    stored.back() ^= std::byte{1};
    EXPECT_TRUE(absl::IsDataLoss(reader->CheckAttachment(name, stored)));
    stored.pop_back();
    EXPECT_DEATH(reader->CheckAttachment(name, stored).IgnoreError(), "attachment config");
  }
  EXPECT_TRUE(absl::IsNotFound(reader->PlaceOfAttachment("none").status()));
  EXPECT_TRUE(absl::IsNotFound(reader->CheckAttachment("none", {})));
}

// What direct reads rely on.
TEST_F(TsrReaderTest, UnitsLieOnAlignedPlacesAndPadsAreZeros) {
  const std::unique_ptr<TsrReader> reader = Open();
  int64_t end = 0;
  for (int unit = 0; unit < reader->units(); ++unit) {
    EXPECT_EQ(reader->UnitOffset(unit) % kTsrUnitAlignment, 0);
    EXPECT_GE(reader->UnitOffset(unit), end);
    const int64_t stored = reader->StoredBytes(unit);
    EXPECT_EQ(stored % kTsrPage, 0);
    EXPECT_LT(stored - reader->UnitBytes(unit), kTsrPage);
    std::vector<std::byte> bytes(stored);
    ASSERT_EQ(reader->ReadUnit(unit, absl::MakeSpan(bytes)), absl::OkStatus());
    for (int64_t i = reader->UnitBytes(unit); i < stored; ++i) ASSERT_EQ(bytes[i], std::byte{0}) << unit;
    end = reader->UnitOffset(unit) + stored;
  }
}

TEST_F(TsrReaderTest, DirectReadsGiveTheSameBytes) {
  const auto reader = TsrReader::Open(path_, RandomAccessFile::Caching::kDirect);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (int unit = 0; unit < (*reader)->units(); ++unit) {
    const AlignedBuffer buffer = *AlignedBuffer::Allocate((*reader)->StoredBytes(unit));
    ASSERT_EQ((*reader)->ReadUnit(unit, buffer.bytes()), absl::OkStatus());
    EXPECT_TRUE(buffer.bytes().first(kSizes[unit]) == absl::MakeConstSpan(sample_.units[unit])) << unit;
  }
  EXPECT_EQ(*(*reader)->ReadAttachment("config"), sample_.contents.attachments[0].bytes);
}

TEST_F(TsrReaderTest, BlocksAreCountedThroughAllUnits) {
  const std::unique_ptr<TsrReader> reader = Open();
  EXPECT_EQ(reader->blocks(), 1 + 1 + 4 + 1 + 1 + 1);
  int64_t block = 0;
  for (int unit = 0; unit < reader->units(); ++unit) {
    EXPECT_EQ(reader->FirstBlock(unit), block);
    for (int64_t begin = 0; begin < kSizes[unit]; begin += kTsrBlockBytes, ++block) {
      EXPECT_EQ(reader->UnitOfBlock(block), unit);
      const absl::Span<const std::byte> bytes = absl::MakeConstSpan(sample_.units[unit]).subspan(begin, kTsrBlockBytes);
      EXPECT_EQ(reader->CheckBlock(block, bytes), absl::OkStatus());
      std::vector<std::byte> padded(bytes.begin(), bytes.end());
      padded.resize(AlignUp(padded.size(), kTsrPage));
      EXPECT_EQ(reader->CheckBlock(block, padded), absl::OkStatus());
    }
  }
}

// Each bit of a unit, its zeros behind it included.
TEST_F(TsrReaderTest, ADamagedByteIsNamedWithItsUnitAndEntry) {
  const std::unique_ptr<TsrReader> reader = Open();
  const int64_t second = kTsrBlockBytes;  // The second block of unit 2, in entry a; entry b is 3 MiB from its beginning.
  for (const auto& [offset, entry] : {std::pair<int64_t, const char*>{second, "unit2.a"}, {3 * kTsrBlockBytes + 7, "unit2.b"},
                                      {3 * kTsrBlockBytes + 101, "unit2.b"}}) {
    Flip(reader->UnitOffset(2) + offset);
    std::vector<std::byte> bytes(reader->StoredBytes(2));
    const absl::Status status = reader->ReadUnit(2, absl::MakeSpan(bytes));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    const int64_t block = offset / kTsrBlockBytes * kTsrBlockBytes;
    EXPECT_TRUE(absl::StartsWith(status.message(),
                                 absl::StrCat(path_, ": unit 2, ", entry, ", byte ", reader->UnitOffset(2) + block,
                                              " of the file: CRC-32C of block ", 2 + offset / kTsrBlockBytes, ": found 0x")))
        << status;
    Flip(reader->UnitOffset(2) + offset);
    EXPECT_EQ(reader->ReadUnit(2, absl::MakeSpan(bytes)), absl::OkStatus());
  }
}

TEST_F(TsrReaderTest, BlocksOfAnotherPlaceOrFileFail) {
  const std::vector<std::byte> bytes = SampleBytes(4096, 1);
  EXPECT_NE(BlockCrc(kSampleUuid, 0, bytes), BlockCrc(kSampleUuid, 1, bytes));
  EXPECT_NE(BlockCrc(kSampleUuid, 0, bytes), BlockCrc(RandomTsrUuid(), 0, bytes));
  const std::unique_ptr<TsrReader> reader = Open();
  EXPECT_TRUE(absl::IsDataLoss(reader->CheckBlock(1, absl::MakeConstSpan(sample_.units[2]).first(kTsrBlockBytes))));
}

TEST_F(TsrReaderTest, AFileThatIsOverwrittenIsNoticed) {
  const std::unique_ptr<TsrReader> reader = Open();
  TsrSample other = sample_;
  other.units[0] = SampleBytes(kSizes[0], 9);
  ASSERT_EQ(WriteTsrSample(folder_.Path("other.tsr"), other), absl::OkStatus());
  WaitForLaterFileTime(path_);
  std::filesystem::copy_file(folder_.Path("other.tsr"), path_, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(absl::IsDataLoss(ReadUnitOf(*reader, 0).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(reader->file()->CheckUnchanged()));
}

TEST_F(TsrReaderTest, OneThatIsOverwrittenAndMadeToLookOldIsNoticed) {
  const std::unique_ptr<TsrReader> reader = Open();
  const auto written = std::filesystem::last_write_time(path_);
  WaitForLaterFileTime(path_);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(reader->UnitOffset(0)).write("other", 5);
  std::filesystem::last_write_time(path_, written);
  EXPECT_EQ(reader->file()->CheckUnchanged(), absl::OkStatus());
  EXPECT_TRUE(reader->file()->MayHaveChanged());
  EXPECT_TRUE(absl::IsDataLoss(ReadUnitOf(*reader, 0).status()));
}

TEST_F(TsrReaderTest, FindsTheUnitOfEveryByteAndBlock) {
  const std::unique_ptr<TsrReader> reader = Open();
  for (int unit = 0; unit < reader->units(); ++unit) {
    EXPECT_EQ(reader->UnitAt(reader->UnitOffset(unit)), unit);
    EXPECT_EQ(reader->UnitAt(reader->UnitOffset(unit) + reader->StoredBytes(unit) - 1), unit);
    EXPECT_EQ(reader->UnitOfBlock(reader->FirstBlock(unit)), unit);
  }
}

TEST_F(TsrReaderTest, AFileThatIsReplacedIsReadToItsEnd) {
  const std::unique_ptr<TsrReader> reader = Open();
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({64})), absl::OkStatus());
  EXPECT_EQ(reader->file()->CheckUnchanged(), absl::OkStatus());
  EXPECT_EQ(*ReadUnitOf(*reader, 0), sample_.units[0]);
  std::filesystem::remove(path_);
  EXPECT_EQ(*ReadUnitOf(*reader, 1), sample_.units[1]);
}

// Without the zeros up to a page; the file's UUID and the block's place do not matter.
TEST_F(TsrReaderTest, TheSumsOfBlocksDependOnTheBytesAlone) {
  std::vector<Sha256Sum> expected;
  for (const std::vector<std::byte>& unit : sample_.units) {
    for (size_t begin = 0; begin < unit.size(); begin += kTsrBlockBytes) {
      expected.push_back(Sha256Of(absl::MakeConstSpan(unit).subspan(begin, kTsrBlockBytes)));
    }
  }
  EXPECT_EQ(Open()->block_sums(), absl::MakeConstSpan(expected));
}

TEST_F(TsrReaderTest, ADamagedManifestIsReplacedByItsCopy) {
  const int64_t copy = Open()->file_bytes() - 2 * kTsrPage;
  EXPECT_EQ(Open()->manifest_damage(), absl::OkStatus());
  Flip(kTsrPage + 10);
  const auto reader = Open();
  EXPECT_EQ(*ReadUnitOf(*reader, 0), sample_.units[0]);
  EXPECT_TRUE(absl::IsDataLoss(reader->manifest_damage())) << reader->manifest_damage();
  EXPECT_TRUE(absl::StrContains(reader->manifest_damage().message(), "manifest at byte 4096")) << reader->manifest_damage();
  Flip(copy + 10);
  const absl::Status status = TsrReader::Open(path_).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("manifest at byte ", copy))) << status;
  Flip(kTsrPage + 10);
  EXPECT_EQ(*ReadUnitOf(*Open(), 0), sample_.units[0]);
}

}  // namespace
}  // namespace tessera
