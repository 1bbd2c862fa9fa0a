#include "tessera/storage/loading_source.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/borrowed_pages.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int kLargeUnit = 2;
const std::vector<int64_t> kSizes = {5000, kTsrBlockBytes, 9 * kTsrBlockBytes + 100, 64, 1, 65536};

// kBorrowed: in the system's cache, and nobody writes to it. kFetched: not there. kWrittenTo: there, but not to be borrowed.
enum class Weights { kBorrowed, kFetched, kWrittenTo };

class LoadingSourceTest : public testing::TestWithParam<Weights> {
 protected:
  LoadingSourceTest() : sample_(MakeTsrSample(kSizes)) {
    EXPECT_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    reader_ = *TsrReader::Open(path_);
    EXPECT_EQ(ReadFileToString(path_, 1 << 30)->size(), reader_->file_bytes());
    if (GetParam() == Weights::kFetched) DropFromPageCache(reader_->file()->descriptor());
    if (GetParam() == Weights::kWrittenTo) writer_.open(path_, std::ios::in | std::ios::out | std::ios::binary);
  }

  std::unique_ptr<LoadingSource> Start(int threads) const {
    auto source = LoadingSource::Start(*reader_, {.threads = threads});
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  bool Holds(absl::Span<const std::byte> bytes, int unit, int64_t offset = 0) const {
    return std::equal(bytes.begin(), bytes.end(), sample_.units[unit].begin() + offset);
  }

  bool IsConfig(const SharedBytes& bytes) const { return bytes.span() == absl::MakeConstSpan(sample_.contents.attachments[0].bytes); }

  // Changes a byte of a unit, or of the file, or back.
  void Flip(int unit, int64_t offset) const { FlipAt(reader_->UnitOffset(unit) + offset); }
  void FlipAt(int64_t offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(file.flush().good());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
  const TsrSample sample_;
  std::unique_ptr<TsrReader> reader_;
  std::fstream writer_;
};

std::string NameOf(const testing::TestParamInfo<Weights>& info) {
  constexpr const char* kNames[] = {"Borrowed", "Fetched", "WrittenTo"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Files, LoadingSourceTest, testing::Values(Weights::kBorrowed, Weights::kFetched, Weights::kWrittenTo), NameOf);

// The file that is mapped at an address; empty if that is memory.
std::string MappedFrom(const std::byte* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin, end;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (begin > at || at >= end) continue;
    const size_t path = line.find('/');
    return path == std::string::npos ? "" : line.substr(path);
  }
  return "not mapped";
}

class BorrowedFileTest : public LoadingSourceTest {
 protected:
  void SetUp() override {
    const auto pages = BorrowedPages::Map(reader_->file()->descriptor(), reader_->file_bytes());
    if (pages == nullptr || !pages->Hold(pages->bytes())) GTEST_SKIP() << path_ << ": the system lends no files there";
  }

  std::unique_ptr<LoadingSource> StartForLong(int threads) const {
    return *LoadingSource::Start(*reader_, {.threads = threads, .longest_borrowed = 3'600'000'000'000});
  }
};
INSTANTIATE_TEST_SUITE_P(Files, BorrowedFileTest, testing::Values(Weights::kBorrowed));

// Leases of the page cache, from which threads move units away while others hold them.
TEST_P(BorrowedFileTest, LeasesStayGoodWhileAllMoves) {
  for (const int threads : {1, 4}) {
    const auto source = StartForLong(threads);
    std::vector<WeightLease> before, after;
    for (int unit = 0; unit < source->units(); ++unit) before.push_back(*source->Acquire(unit));
    EXPECT_EQ(source->AwaitChecked(), absl::OkStatus());
    EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
    for (int unit = 0; unit < source->units(); ++unit) after.push_back(*source->Acquire(unit));
    for (int unit = 0; unit < source->units(); ++unit) {
      EXPECT_TRUE(Holds(before[unit].bytes(), unit) && Holds(after[unit].bytes(), unit)) << unit;
      EXPECT_NE(before[unit].bytes().data(), after[unit].bytes().data()) << unit;
    }
  }
}

// Before, the file is as it was; after, nothing of it is needed any more. Unasked, the threads move everything in the end.
TEST_P(BorrowedFileTest, AProgramThatShortensTheFileWaitsUntilAllIsInMemory) {
  const auto source = Start(2);
  for (int unit = 0; unit < source->units(); ++unit) EXPECT_EQ(source->Acquire(unit).status(), absl::OkStatus());
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  for (int unit = 0; unit < source->units(); ++unit) EXPECT_TRUE(Holds(source->Acquire(unit)->bytes(), unit)) << unit;
}

// After AwaitChecked the first token is computed: copying must not delay it.
TEST_P(BorrowedFileTest, TheFirstLeaseAfterAwaitCheckedIsOfTheCache) {
  const auto source = StartForLong(2);
  EXPECT_EQ(source->AwaitChecked(), absl::OkStatus());
  constexpr std::chrono::seconds kLong(300);   // The threads run after all others: a busy machine gives them a CPU late.
  ASSERT_TRUE(Await(OthersAreAsleep, kLong));   // They wait for that lease.
  const WeightLease before = *source->Acquire(kLargeUnit);
  EXPECT_TRUE(Holds(before.bytes(), kLargeUnit));
  EXPECT_TRUE(Await([&] { return source->Acquire(kLargeUnit)->bytes().data() != before.bytes().data(); }, kLong));
  EXPECT_TRUE(Holds(source->Acquire(kLargeUnit)->bytes(), kLargeUnit));
}

// The lease of a part holds the file as one of a unit does.
TEST_P(BorrowedFileTest, AProgramThatShortensTheFileWaitsForTheLastLease) {
  const auto source = StartForLong(2);
  auto parts = *source->AcquireParts({{kLargeUnit, 64, 640}});
  EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> shortened = false;
  std::thread writer([&] {
    thread = gettid();
    EXPECT_EQ(truncate(path_.c_str(), 0), 0);
    shortened = true;
  });
  EXPECT_TRUE(Await([&] { return shortened || IsAsleep(thread); }));
  EXPECT_FALSE(shortened);
  EXPECT_TRUE(shortened || Holds(parts[0].bytes(), kLargeUnit, 64));   // Whose bytes are gone if it is.
  parts.clear();
  writer.join();
}

// Its addresses stay when the file goes, whether the source moves it or ends before.
TEST_P(BorrowedFileTest, AnAttachmentOutlivesFileAndSource) {
  for (const bool moves : {false, true}) {
    auto source = StartForLong(2);
    const SharedBytes attachment = *source->ReadAttachment("config");
    EXPECT_TRUE(IsConfig(attachment));
    if (moves) {
      EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
    }
    const SharedBytes late = *source->ReadAttachment("config");
    if (!moves) source = nullptr;
    const std::string all = *ReadFileToString(path_, 1 << 30);
    ASSERT_EQ(truncate(path_.c_str(), 0), 0);
    EXPECT_TRUE(IsConfig(attachment) && IsConfig(late));
    source = nullptr;
    EXPECT_TRUE(IsConfig(attachment) && IsConfig(late));
    std::ofstream(path_, std::ios::binary) << all;
  }
}

TEST_P(BorrowedFileTest, AnAttachmentIsTheFilesUntilAllMoves) {
  const auto source = StartForLong(2);
  const SharedBytes attachment = *source->ReadAttachment("config");
  EXPECT_EQ(MappedFrom(attachment.span().data()), std::filesystem::canonical(path_));
  EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
  EXPECT_EQ(MappedFrom(attachment.span().data()), "");
  EXPECT_TRUE(IsConfig(attachment));
}

// The file is shortened as soon as nobody borrows it. Giving back the last lease while a large attachment is copied does not end the
// borrowing.
TEST(LargeAttachment, IsWholeWheneverAllMoves) {
  TsrSample sample = MakeTsrSample({kTsrBlockBytes});
  sample.contents.attachments.push_back({"large", SampleBytes(int64_t{16} << 20, 2)});
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.tsr");
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(WriteTsrSample(path, sample), absl::OkStatus());
    const auto reader = *TsrReader::Open(path);
    EXPECT_EQ(ReadFileToString(path, 1 << 30)->size(), reader->file_bytes());
    const auto source = *LoadingSource::Start(*reader, {.threads = 2, .longest_borrowed = 3'600'000'000'000});
    const SharedBytes large = *source->ReadAttachment("large");
    absl::StatusOr<WeightLease> lease = source->Acquire(0);
    std::thread mover([&] { EXPECT_EQ(source->AwaitResident(), absl::OkStatus()); });
    std::thread writer([&] { EXPECT_EQ(truncate(path.c_str(), 0), 0); });
    Dawdle(2000 * round);
    lease = absl::CancelledError("given back");
    EXPECT_TRUE(large.span() == absl::MakeConstSpan(sample.contents.attachments.back().bytes));
    mover.join();
    writer.join();
    EXPECT_TRUE(large.span() == absl::MakeConstSpan(sample.contents.attachments.back().bytes));
  }
}

// Late threads start for a lease that waits, and for data that has to be fetched; they end with the source, started or not.
TEST_P(LoadingSourceTest, LateThreadsChangeNothing) {
  for (int threads = 1; threads <= 4; ++threads) {
    for (int late = 0; late <= threads; ++late) {
      for (const bool waits : {false, true}) {
        const auto source = *LoadingSource::Start(*reader_, {.threads = threads, .late_threads = late});
        if (!waits) continue;
        for (int unit = source->units(); unit-- > 0;) EXPECT_TRUE(Holds(source->Acquire(unit)->bytes(), unit)) << unit;
        EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
        EXPECT_TRUE(Holds(source->Acquire(kLargeUnit)->bytes(), kLargeUnit));
      }
    }
  }
}

TEST_P(LoadingSourceTest, AttachmentsAreTheReaders) {
  const auto source = Start(2);
  EXPECT_TRUE(IsConfig(*source->ReadAttachment("config")));
  EXPECT_TRUE(source->ReadAttachment("empty")->span().empty());
  EXPECT_EQ(source->ReadAttachment("none").status(), reader_->ReadAttachment("none").status());
}

TEST_P(LoadingSourceTest, ADamagedAttachmentIsTheReadersError) {
  FlipAt(reader_->PlaceOfAttachment("config")->offset + 7);
  const absl::Status status = Start(2)->ReadAttachment("config").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(status, reader_->ReadAttachment("config").status());
}

TEST_P(LoadingSourceTest, HeaderExample) {
  const auto run = [](const TsrReader* reader) -> absl::StatusOr<size_t> {
    ASSIGN_OR_RETURN(std::unique_ptr<LoadingSource> source, LoadingSource::Start(*reader, {.threads = 4}));
    ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));
    ASSIGN_OR_RETURN(SharedBytes header, source->ReadAttachment("config"));
    RETURN_IF_ERROR(source->AwaitChecked());
    RETURN_IF_ERROR(source->AwaitResident());
    return lease.bytes().size();
  };
  const absl::StatusOr<size_t> bytes = run(reader_.get());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, 5000u);
}

// With any number of reading threads, even none, a thread that needs a unit reads it.
TEST_P(LoadingSourceTest, EveryUnitHasItsBytesInAnyOrderOfUse) {
  SeededRandom random(3);
  for (int threads = 0; threads < 20; ++threads) {
    const auto source = Start(threads % 5);
    std::vector<int> order(kSizes.size());
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    for (const int unit : order) {
      const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
      ASSERT_TRUE(lease.ok()) << lease.status();
      EXPECT_EQ(lease->bytes().size(), sample_.units[unit].size());
      EXPECT_TRUE(Holds(lease->bytes(), unit)) << unit;
    }
    EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
  }
}

TEST_P(LoadingSourceTest, PartsWaitForTheirOwnChunkAlone) {
  constexpr int64_t kChunk = 4 * kTsrBlockBytes, kSize = 2 * kChunk + kTsrBlockBytes + 100;
  Flip(kLargeUnit, kChunk + kTsrBlockBytes + 7);
  const auto source = Start(0);
  const auto holds_part = [&](int64_t offset, int64_t bytes) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const std::vector<WeightLease> parts, source->AcquireParts({{kLargeUnit, offset, bytes}, {0, 64, 128}}));
    return Holds(parts[0].bytes(), kLargeUnit, offset) && Holds(parts[1].bytes(), 0, 64);
  };
  for (const int64_t offset : {int64_t{0}, kTsrBlockBytes - 64, kChunk - 640, 2 * kChunk, kSize - 164}) {
    const absl::StatusOr<bool> held = holds_part(offset, std::min<int64_t>(640, kSize - offset));
    EXPECT_TRUE(held.ok() && *held) << offset << " " << held.status();
  }
  for (const int64_t offset : {kChunk, kChunk - 64, 2 * kChunk - 64}) {
    EXPECT_TRUE(absl::IsDataLoss(holds_part(offset, 128).status())) << offset;
  }
}

TEST_P(LoadingSourceTest, DamageIsTheErrorOfTheCallThatNeedsTheUnit) {
  Flip(kLargeUnit, 2 * kTsrBlockBytes + 7);
  for (const int threads : {0, 1, 4}) {
    const auto source = Start(threads);
    for (int unit = 0; unit < source->units(); ++unit) {
      const absl::Status status = source->Acquire(unit).status();
      EXPECT_EQ(status.code(), unit == kLargeUnit ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk) << status;
      if (!status.ok()) {
        EXPECT_TRUE(absl::StrContains(status.message(), path_ + ": unit 2, unit2.a, byte ")) << status;
      }
    }
    EXPECT_TRUE(absl::IsDataLoss(source->AwaitResident()));
  }
}

TEST_P(LoadingSourceTest, AnErrorThatEndsIsForgotten) {
  Flip(kLargeUnit, 7);
  const auto source = Start(2);
  EXPECT_TRUE(absl::IsDataLoss(source->AwaitResident()));
  Flip(kLargeUnit, 7);
  EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
  EXPECT_TRUE(Holds(source->Acquire(kLargeUnit)->bytes(), kLargeUnit));
}

TEST_P(LoadingSourceTest, ManyThreadsShareOne) {
  for (int round = 0; round < 20; ++round) {
    const auto source = Start(2);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> users;
    for (int user = 0; user < 4; ++user) {
      users.emplace_back([&, user] {
        for (int i = 0; i < source->units(); ++i) {
          const int unit = (user % 2 == 0) ? i : source->units() - 1 - i;
          const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
          if (!lease.ok() || !Holds(lease->bytes(), unit)) ++wrong;
        }
      });
    }
    for (std::thread& user : users) user.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(LoadingSourceTest, ACancelledWaitEndsAndTheNextIsServed) {
  std::atomic<bool> cancel = true;
  const auto source = *LoadingSource::Start(*reader_, {.threads = 0, .cancel = &cancel});
  EXPECT_TRUE(absl::IsCancelled(source->Acquire(0).status()));
  EXPECT_TRUE(absl::IsCancelled(source->AcquireParts({{kLargeUnit, 0, 64}}).status()));
  cancel = false;
  EXPECT_TRUE(Holds(source->Acquire(0)->bytes(), 0));
}

// Reading that nobody waits for is nobody's loss of time.
TEST_P(LoadingSourceTest, TellsHowLongLeasesTook) {
  const auto source = Start(0);
  EXPECT_EQ(source->LoadingSeconds(), 0);
  EXPECT_EQ(source->Acquire(kLargeUnit).status(), absl::OkStatus());
  const double seconds = source->LoadingSeconds();
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(source->AwaitResident(), absl::OkStatus());
  const double all = source->LoadingSeconds();
  EXPECT_GT(all, seconds);
  EXPECT_EQ(source->Acquire(kLargeUnit).status(), absl::OkStatus());
  EXPECT_EQ(source->LoadingSeconds(), all);
}

TEST_P(LoadingSourceTest, AnUnknownUnitIsABug) {
  const auto source = Start(0);
  EXPECT_DEATH(source->Acquire(6).IgnoreError(), "unit 6 of 6");
  EXPECT_DEATH(source->AcquireParts({{0, 64, 5000}}).IgnoreError(), "unit 0 of 6: 5000 bytes at 64");
}

// In a process of its own, with address space for the stacks of a few threads only.
TEST_P(LoadingSourceTest, ThreadsThatTheSystemDoesNotGiveAreAFactToAskFor) {
  EXPECT_TRUE(Start(2)->Shortages().empty());
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory does not fit in the limit that this test sets";
  const auto run_short_of_memory = [&] {
    const rlimit limit = {.rlim_cur = 512 << 20, .rlim_max = 512 << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
    const auto source = Start(256);  // 8 MiB of stack each.
    const bool whole = source->AwaitResident().ok();
    for (const std::string& shortage : source->Shortages()) std::cerr << shortage;
    std::_Exit(whole && source->Shortages().size() == 1 ? 0 : 1);
  };
  EXPECT_EXIT(run_short_of_memory(), testing::ExitedWithCode(0), "model.tsr: read by only [0-9]+ of 256 threads");
}

TEST_P(LoadingSourceTest, MayGoBeforeAllIsRead) {
  for (int round = 0; round < 20; ++round) Start(round % 5);
}

}  // namespace
}  // namespace tessera
