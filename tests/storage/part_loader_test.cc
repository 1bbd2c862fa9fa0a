#include "tessera/storage/part_loader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/held_device.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// A few pages, several blocks, one whole block, and one that ends inside a block.
const std::vector<int64_t> kUnitBytes = {5000, 3 * kMiB + 100, kMiB, 700'000, 2 * kMiB};
constexpr int64_t kMemory = 16 * kMiB;

class PartLoading : public testing::Test {
 protected:
  PartLoading() : path_(folder_.Path("sample.tsr")) {
    Must(WriteTsrSample(path_, sample_));
    file_ = Must(TsrReader::Open(path_));
  }
  std::unique_ptr<PartLoader> Started(PartLoader::Options options = {}) const {
    auto loader = std::make_unique<PartLoader>(*file_, std::move(options));
    Must(loader->Start(kMemory));
    return loader;
  }
  PartLoader::Options Breaking(Breaker& breaker) const {
    PartLoader::Options options;
    options.wrap_device = [&breaker](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<BreakableDevice>(std::move(device), breaker);
    };
    return options;
  }
  bool Holds(absl::Span<const std::byte> bytes, const UnitPart& part) const {
    return static_cast<int64_t>(bytes.size()) == part.bytes &&
           std::memcmp(bytes.data(), sample_.units[part.unit].data() + part.offset, bytes.size()) == 0;
  }
  void ExpectHolds(PartLoader::Load& load, const std::vector<UnitPart>& parts) const {
    const auto bytes = Must(load.Await());
    ASSERT_EQ(bytes.size(), parts.size());
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_TRUE(Holds(bytes[i], parts[i])) << "part " << i << " of unit " << parts[i].unit;
  }
  static UnitPart Whole(int unit) { return {.unit = unit, .offset = 0, .bytes = kUnitBytes[unit]}; }

  static const TsrSample& Sample() {   // Made once: it takes longer than a test.
    static const TsrSample sample = MakeTsrSample(kUnitBytes);
    return sample;
  }
  const TsrSample& sample_ = Sample();
  const TemporaryFolder folder_;
  const std::string path_;
  std::unique_ptr<TsrReader> file_;
};

TEST_F(PartLoading, HeaderExample) {
  PartLoader loader(*file_, {});
  const std::vector<UnitPart> parts = {{.unit = 3, .offset = 0, .bytes = 8192}};
  std::unique_ptr<PartLoader::Load> load = loader.Begin(parts, /*place=*/0, /*detail=*/0);
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(loader.Start(/*memory_bytes=*/loader.BytesOf(parts)));
    ASSIGN_OR_RETURN(const absl::Span<const absl::Span<const std::byte>> bytes, load->Await());
    EXPECT_TRUE(Holds(bytes[0], parts[0]));
    EXPECT_TRUE(load->is_ready());
    load.reset();
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(loader.stats().loads, 1);
  EXPECT_EQ(loader.stats().read_bytes, AlignUp(700'000, kTsrPage)) << "its one block, as it is stored";
}

// Any parts of any units, wherever they lie, by each policy, again and again to the same place.
TEST_F(PartLoading, PartsEqualTheBytesOfTheFile) {
  SeededRandom random(7);
  for (const VerifyPolicy verify : {VerifyPolicy::kFirst, VerifyPolicy::kAlways, VerifyPolicy::kNever}) {
    const std::unique_ptr<PartLoader> loader = Started({.verify = verify, .probe_in_child = true});
    for (int round = 0; round < 20; ++round) {
      std::vector<UnitPart> parts;
      for (int i = 0, count = 1 + static_cast<int>(random.Below(5)); i < count; ++i) {
        const int unit = static_cast<int>(random.Below(kUnitBytes.size()));
        const int64_t offset = static_cast<int64_t>(random.Below(kUnitBytes[unit])) / 64 * 64;
        parts.push_back({unit, offset, 1 + static_cast<int64_t>(random.Below(kUnitBytes[unit] - offset))});
      }
      const int64_t bytes = loader->BytesOf(parts);
      EXPECT_EQ(bytes % BlockDevice::kAlignment, 0);
      ExpectHolds(*loader->Begin(parts, (kMemory - bytes) / 4096 * 4096, 0), parts);
    }
  }
}

TEST_F(PartLoading, LoadsAreReadFirstInFirstOut) {
  HeldRead asked;
  PartLoader loader(*file_, {.wrap_device = asked.Wrap()});
  std::vector<std::unique_ptr<PartLoader::Load>> loads;
  const std::vector<int> order = {4, 0, 2};
  for (const int unit : order) loads.push_back(loader.Begin({Whole(unit)}, static_cast<int64_t>(loads.size()) * 4 * kMiB, 0));
  EXPECT_FALSE(loads[0]->is_ready()) << "nothing is read before Start";
  EXPECT_EQ(loads[0]->Await().status().code(), absl::StatusCode::kFailedPrecondition);
  Must(loader.Start(kMemory));
  Must(loader.AwaitAll());
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_TRUE(loads[i]->is_ready());
    ExpectHolds(*loads[i], {Whole(order[i])});
  }
  std::vector<int64_t> begins;
  for (const int unit : order) begins.push_back(file_->UnitOffset(unit));
  std::vector<int64_t> found = asked.asked();
  std::erase_if(found, [&](int64_t offset) { return std::find(begins.begin(), begins.end(), offset) == begins.end(); });
  EXPECT_EQ(found, begins);
}

// The first read is on its way: its place is another's already, and is written by that one alone.
TEST_F(PartLoading, APlaceIsFreeOnceItsLoadHasEnded) {
  HeldRead held;
  held.Hold(file_->UnitOffset(1));
  const std::unique_ptr<PartLoader> loader = Started({.wrap_device = held.Wrap()});
  std::unique_ptr<PartLoader::Load> first = loader->Begin({Whole(1)}, 0, 0), waiting = loader->Begin({Whole(3)}, 8 * kMiB, 0);
  while (held.asked().empty()) std::this_thread::yield();
  first.reset();
  waiting.reset();
  const std::unique_ptr<PartLoader::Load> second = loader->Begin({Whole(4)}, 0, 0);
  EXPECT_FALSE(second->is_ready());
  held.LetGo();
  ExpectHolds(*second, {Whole(4)});
  EXPECT_EQ(loader->stats().loads, 1) << "what ended did not come";
  const std::vector<int64_t> asked = held.asked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), file_->UnitOffset(3)), 0) << "it was not read at all";
}

TEST_F(PartLoading, AnAwaitFailsWhileReadsFailAndTheNextReadsAgain) {
  for (int read = 0; read < 3; ++read) {
    Breaker breaker;
    const std::unique_ptr<PartLoader> loader = Started(Breaking(breaker));
    const std::vector<UnitPart> parts = {Whole(0), Whole(3), Whole(4)};
    breaker.BreakReadFromNow(read);
    const std::unique_ptr<PartLoader::Load> load = loader->Begin(parts, 0, 0), other = loader->Begin({Whole(2)}, 8 * kMiB, 0);
    const absl::Status status = load->Await().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    for (const char* named : {path_.c_str(), ": unit ", "Input/output error"}) {
      EXPECT_NE(status.message().find(named), std::string::npos) << named << " in " << status;
    }
    EXPECT_EQ(loader->AwaitAll().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(loader->AwaitAll().ok()) << "it was told";
    EXPECT_FALSE(load->is_ready());
    EXPECT_EQ(load->Await().status().code(), absl::StatusCode::kUnavailable) << "still";
    breaker.Repair();
    ExpectHolds(*other, {Whole(2)});
    ExpectHolds(*load, parts);
    ExpectHolds(*load, parts);
  }
}

TEST_F(PartLoading, AFileWrittenToIsNotGivenOut) {
  const std::unique_ptr<PartLoader> loader = Started({.verify = VerifyPolicy::kNever});
  const std::unique_ptr<PartLoader::Load> before = loader->Begin({Whole(1)}, 0, 0);
  ExpectHolds(*before, {Whole(1)});
  WaitForLaterFileTime(path_);
  std::ofstream(path_, std::ios::app) << "more";
  const std::unique_ptr<PartLoader::Load> after = loader->Begin({Whole(2)}, 8 * kMiB, 0);
  EXPECT_EQ(after->Await().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(after->Await().status().code(), absl::StatusCode::kFailedPrecondition);
  ExpectHolds(*before, {Whole(1)});
}

TEST_F(PartLoading, ADamagedBlockIsAnErrorThatNamesTheUnit) {
  const int64_t place = file_->UnitOffset(1) + 2 * kMiB + 5;
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(place);
  file.put(static_cast<char>(sample_.units[1][2 * kMiB + 5] ^ std::byte{1}));
  file.close();
  file_ = Must(TsrReader::Open(path_));
  const std::unique_ptr<PartLoader> loader = Started();
  const std::vector<UnitPart> whole_blocks = {{.unit = 1, .offset = 0, .bytes = 2 * kMiB}};
  const std::unique_ptr<PartLoader::Load> load = loader->Begin({Whole(1)}, 0, 0), before = loader->Begin(whole_blocks, 8 * kMiB, 0);
  const absl::Status status = load->Await().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_NE(status.message().find("unit 1"), std::string::npos) << status;
  ExpectHolds(*before, whole_blocks);
}

TEST_F(PartLoading, ACancelledWaitEnds) {
  std::atomic<bool> cancel{true};
  HeldRead held;
  held.Hold(file_->UnitOffset(2));
  const std::unique_ptr<PartLoader> loader = Started({.cancel = &cancel, .wrap_device = held.Wrap()});
  const std::unique_ptr<PartLoader::Load> load = loader->Begin({Whole(2)}, 0, 0);
  EXPECT_EQ(load->Await().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(loader->AwaitAll().code(), absl::StatusCode::kCancelled);
  cancel = false;
  held.LetGo();
  ExpectHolds(*load, {Whole(2)});
}

TEST_F(PartLoading, LoadsAreOnTheTimelineUnlessRecordingIsOff) {
  Timeline timeline({.capacity = 64});
  const std::unique_ptr<PartLoader> loader = Started({.timeline = &timeline});
  ExpectHolds(*loader->Begin({Whole(1)}, 0, 256), {Whole(1)});
  EXPECT_GT(loader->stats().waited_nanos, 0);
  const int64_t waited = loader->stats().waited_nanos;
  loader->SetRecording(false);
  ExpectHolds(*loader->Begin({Whole(4)}, 0, 32), {Whole(4)});
  EXPECT_EQ(loader->stats().waited_nanos, waited);
  EXPECT_EQ(loader->stats().loads, 2);
  EXPECT_GT(loader->stats().bytes_per_second(), 0);
  const std::vector<TimelineEvent> events = timeline.Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].zone, Zone::kLoad);
  EXPECT_EQ(events[0].resource, Resource::kFlash);
  EXPECT_EQ(events[0].detail, 256);
}

}  // namespace
}  // namespace tessera
