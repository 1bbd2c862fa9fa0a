#include "tessera/storage/resident_source.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

void Fill(int unit, absl::Span<std::byte> bytes) { std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(unit + 1)); }

// Unit i has 1000 * i + 1 bytes of value i + 1.
std::unique_ptr<ResidentSource> SourceOf(int count) {
  std::vector<int64_t> unit_bytes;
  for (int i = 0; i < count; ++i) unit_bytes.push_back(1000 * i + 1);
  absl::StatusOr<std::unique_ptr<ResidentSource>> source = ResidentSource::Create(unit_bytes);
  EXPECT_TRUE(source.ok()) << source.status();
  for (int unit = 0; unit < count; ++unit) Fill(unit, (*source)->Unit(unit));
  return *std::move(source);
}

bool Holds(const WeightLease& lease, int unit) {
  const absl::Span<const std::byte> bytes = lease.bytes();
  return lease.unit() == unit && bytes.size() == static_cast<size_t>(1000 * unit + 1) &&
         std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == static_cast<std::byte>(unit + 1); });
}

TEST(ResidentSource, HeaderExample) {
  const auto run = [](const std::vector<int64_t>& unit_bytes) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, ResidentSource::Create(unit_bytes));
    for (int unit = 0; unit < source->units(); ++unit) Fill(unit, source->Unit(unit));
    ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));
    return Holds(lease, 0);
  };
  const absl::StatusOr<bool> held = run({1, 1001});
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_TRUE(*held);
}

TEST(ResidentSource, LeasesEachUnitInPlace) {
  const std::unique_ptr<ResidentSource> source = SourceOf(3);
  ASSERT_EQ(source->units(), 3);
  for (const int unit : {2, 0, 1, 0}) {
    const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(lease->bytes().data(), source->Unit(unit).data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lease->bytes().data()) % 4096, 0u);
    EXPECT_TRUE(Holds(*lease, unit));
    EXPECT_TRUE(lease->pinned());
  }
}

TEST(ResidentSource, RefusesSizesThatCannotBe) {
  EXPECT_EQ(ResidentSource::Create({1, -5}).status().message(), "unit 1: size: found -5, expected >= 0");
  EXPECT_EQ(ResidentSource::Create({INT64_MAX, 1}).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(ResidentSource, LeasesAUnitToManyAtOnce) {
  const std::unique_ptr<ResidentSource> source = SourceOf(4);
  std::atomic<int> wrong = 0;
  const auto read = [&] {
    for (int i = 0; i < 200; ++i) {
      const absl::StatusOr<WeightLease> lease = source->Acquire(i % 4), same = source->Acquire(i % 4);
      if (!lease.ok() || !same.ok() || !Holds(*lease, i % 4) || lease->bytes().data() != same->bytes().data()) ++wrong;
    }
  };
  std::thread other(read);
  read();
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ResidentSource, UnknownUnitsAreABug) {
  const std::unique_ptr<ResidentSource> source = SourceOf(2);
  EXPECT_DEATH((void)source->Acquire(2), "unit 2 of 2");
  EXPECT_DEATH((void)source->Acquire(-1), "unit -1 of 2");
}

}  // namespace
}  // namespace tessera
