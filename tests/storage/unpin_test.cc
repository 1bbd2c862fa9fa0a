// Pins are given up while others read, and every lease holds what it held.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "tessera/base/status_macros.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/backed_bytes.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
const std::vector<int64_t> kUnitBytes = {5000, 3 * kMiB + 100, 64, kMiB, 700000, 2 * kMiB, 4096, 900000};
constexpr int kUnits = 8;

class Unpin : public testing::Test {
 protected:
  Unpin() {
    CHECK_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
  }

  template <typename T>
  static T Must(absl::StatusOr<T> result) {
    CHECK(result.ok()) << result.status();
    return *std::move(result);
  }

  static LayerStreamer::Options Pinned(int64_t bytes) {
    LayerStreamer::Options options;
    options.pins = PlanPins(kUnitBytes, bytes, PinPolicy::kSpread);
    options.ring_bytes = 4 * kMiB;
    options.probe_in_child = true;
    return options;
  }
  std::unique_ptr<LayerStreamer> Open(LayerStreamer::Options options) const {
    return Must(LayerStreamer::Open(*file_, std::move(options)));
  }

  static bool Holds(const WeightLease& lease, int unit) {
    const std::vector<std::byte>& expected = sample_.units[unit];
    return lease.bytes().size() == expected.size() && std::memcmp(expected.data(), lease.bytes().data(), expected.size()) == 0;
  }
  static void ExpectPass(LayerStreamer& source, int from = 0) {
    for (int unit = from; unit < kUnits; ++unit) {
      const absl::StatusOr<WeightLease> lease = source.Acquire(unit);
      ASSERT_TRUE(lease.ok()) << lease.status();
      ASSERT_TRUE(Holds(*lease, unit)) << unit;
    }
  }

  static inline const TsrSample sample_ = MakeTsrSample(kUnitBytes);
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("sample.tsr");
  std::unique_ptr<TsrReader> file_;
};

TEST_F(Unpin, HeaderExample) {
  const std::unique_ptr<LayerStreamer> source = Open(Pinned(100 * kMiB));
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(source->Unpin({2, 5}));
    return absl::OkStatus();
  };
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(source->stats().streamed_bytes, file_->StoredBytes(2) + file_->StoredBytes(5));
  ExpectPass(*source);
}

// Any one unit and all that are pinned, before some units of a pass; with nothing streamed before, and with every other unit.
TEST_F(Unpin, AtEachMomentOfAPassUnitsAreRightAndTheirMemoryGone) {
  for (const int64_t pin_bytes : {3 * kMiB, 100 * kMiB}) {
    for (const int moment : {0, 1, 4, 7}) {
      for (int which = 0; which <= kUnits; ++which) {
        SCOPED_TRACE(absl::StrCat("pins of ", pin_bytes, ", before ", moment, ", ", which));
        LayerStreamer::Options options = Pinned(pin_bytes);
        std::vector<int> unpinned;
        for (int unit = 0; unit < kUnits; ++unit) {
          if (options.pins.pinned[unit] && (which == kUnits || which == unit)) unpinned.push_back(unit);
        }
        if (unpinned.empty()) continue;
        const std::unique_ptr<LayerStreamer> source = Open(options);
        std::vector<absl::Span<const std::byte>> places;
        for (const int unit : unpinned) places.push_back(Must(source->Acquire(unit)).bytes());
        ExpectPass(*source);
        for (int unit = 0; unit < moment; ++unit) ASSERT_TRUE(Holds(Must(source->Acquire(unit)), unit));
        const LayerStreamer::Stats before = source->stats();
        ASSERT_EQ(source->Unpin(unpinned), absl::OkStatus());
        int64_t bytes = 0;
        for (const int unit : unpinned) bytes += file_->StoredBytes(unit);
        EXPECT_EQ(source->stats().pinned_bytes, before.pinned_bytes - bytes);
        EXPECT_EQ(source->stats().streamed_bytes, before.streamed_bytes + bytes);
        for (const absl::Span<const std::byte> place : places) EXPECT_EQ(BackedBytes(place), 0);
        ExpectPass(*source, moment);
        ExpectPass(*source);
        const int64_t out_of_order = source->stats().out_of_order;
        ExpectPass(*source);
        EXPECT_EQ(source->stats().out_of_order, out_of_order) << "but for the pass under way, and the next, of which some was read ahead";
      }
    }
  }
}

TEST_F(Unpin, ALeaseKeepsItsMemoryToItsEndAndTheUnitCanBeLeasedAgain) {
  const std::unique_ptr<LayerStreamer> source = Open(Pinned(100 * kMiB));
  absl::Span<const std::byte> place;
  {
    const WeightLease lease = Must(source->Acquire(5));
    WeightLease again = Must(source->Acquire(5));
    place = lease.bytes();
    ASSERT_EQ(source->Unpin({5}), absl::OkStatus());
    again = WeightLease();
    ExpectPass(*source);
    const WeightLease streamed = Must(source->Acquire(5));
    EXPECT_NE(streamed.bytes().data(), place.data());
    EXPECT_TRUE(lease.pinned() && !streamed.pinned());
    EXPECT_TRUE(Holds(lease, 5) && Holds(streamed, 5));
    EXPECT_EQ(BackedBytes(place), 2 * kMiB);
  }
  EXPECT_EQ(BackedBytes(place), 0);
}

TEST_F(Unpin, PartsThatAreLeasedStayAndTheNextAreRead) {
  LayerStreamer::Options options = Pinned(100 * kMiB);
  options.parts_only.assign(kUnits, false);
  options.parts_only[1] = true;
  options.ring_bytes = 2 * kMiB;  // Less than the table: it never comes there.
  const std::unique_ptr<LayerStreamer> source = Open(options);
  ASSERT_EQ(source->AwaitChecked(), absl::OkStatus());  // Before, parts of it would be read apart.
  const auto holds = [](const WeightLease& lease, int64_t offset) {
    return std::equal(lease.bytes().begin(), lease.bytes().end(), sample_.units[1].begin() + offset);
  };
  std::vector<WeightLease> leases = Must(source->AcquireParts({{1, 128, 9000}, {1, kMiB, 64}}));
  ASSERT_EQ(source->Unpin({1}), absl::OkStatus());
  EXPECT_EQ(source->stats().streamed_bytes, 0);
  EXPECT_TRUE(holds(leases[0], 128) && holds(leases[1], kMiB));
  leases.clear();
  leases = Must(source->AcquireParts({{1, 64, 5000}}));
  EXPECT_TRUE(holds(leases[0], 64) && !leases[0].pinned());
}

// A read of parts that fails gives the pins up that it had leased with them.
TEST_F(Unpin, PartsThatCannotBeReadKeepNoPin) {
  LayerStreamer::Options options = Pinned(100 * kMiB);
  options.parts_only.assign(kUnits, false);
  options.parts_only[1] = options.parts_only[3] = true;
  const std::unique_ptr<LayerStreamer> source = Open(options);
  const absl::Span<const std::byte> place = Must(source->Acquire(3)).bytes();
  ASSERT_EQ(source->Unpin({1}), absl::OkStatus());
  WaitForLaterFileTime(path_);
  std::ofstream(path_, std::ios::in | std::ios::out).put('x');  // What was read before the file was written to is trusted no longer.
  EXPECT_FALSE(source->AcquireParts({{3, 64, 64}, {1, 64, 5000}}).ok());
  ASSERT_EQ(source->Unpin({3}), absl::OkStatus());
  EXPECT_EQ(BackedBytes(place), 0);
}

TEST_F(Unpin, WhileOthersReadAndLease) {
  const std::unique_ptr<LayerStreamer> source = Open(Pinned(100 * kMiB));
  std::atomic<int> leases = 0;
  std::thread unpins([&] {
    int before = 0;   // The leases that are made before the next: each unit goes at another moment of a pass.
    for (const int unit : {4, 1, 7, 0, 5, 3, 2, 6}) {
      EXPECT_TRUE(Await([&] { return leases >= before; }));
      CHECK_EQ(source->Unpin({unit}), absl::OkStatus());
      before = leases + kUnits + 1;
    }
  });
  while (source->stats().pinned_bytes > 0) {
    for (int unit = 0; unit < kUnits; ++unit, ++leases) {
      const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
      EXPECT_TRUE(lease.ok() && Holds(*lease, unit)) << unit << " " << lease.status();
    }
  }
  unpins.join();
  ExpectPass(*source);
  int64_t all = 0;
  for (int unit = 0; unit < kUnits; ++unit) all += file_->StoredBytes(unit);
  EXPECT_EQ(source->stats().streamed_bytes, all);
}

TEST_F(Unpin, AnImpossibleUnpinIsRefusedAndChangesNothing) {
  LayerStreamer::Options options = Pinned(100 * kMiB);
  options.ring_bytes = 2 * kMiB;
  const std::unique_ptr<LayerStreamer> source = Open(options);
  const auto refused = [&](const std::vector<int>& units, const std::string& why) {
    const int64_t pinned = source->stats().pinned_bytes;
    const absl::Status status = source->Unpin(units);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(why), std::string::npos) << status;
    EXPECT_EQ(source->stats().pinned_bytes, pinned);
  };
  refused({3, 1}, "unpin: unit 1: found a ring of 2097152 bytes, expected at least 3149824");
  refused({3, 8}, "unpin: found unit 8, expected one that is pinned");
  refused({-1}, "unpin: found unit -1");
  ASSERT_EQ(source->Unpin({3}), absl::OkStatus());
  refused({3}, "unpin: found unit 3");
  ExpectPass(*source);
}

}  // namespace
}  // namespace tessera
