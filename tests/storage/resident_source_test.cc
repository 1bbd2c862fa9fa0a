#include "tessera/storage/resident_source.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Unit i has 1000 * i + 1 bytes of value i + 1.
std::vector<AlignedBuffer> Units(int count) {
  std::vector<AlignedBuffer> units;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<AlignedBuffer> unit = AlignedBuffer::Allocate(1000 * i + 1);
    EXPECT_TRUE(unit.ok()) << unit.status();
    std::fill(unit->bytes().begin(), unit->bytes().end(), static_cast<std::byte>(i + 1));
    units.push_back(*std::move(unit));
  }
  return units;
}

bool Holds(const WeightLease& lease, int unit) {
  const absl::Span<const std::byte> bytes = lease.bytes();
  return lease.unit() == unit && bytes.size() == static_cast<size_t>(1000 * unit + 1) &&
         std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == static_cast<std::byte>(unit + 1); });
}

TEST(ResidentSource, HeaderExample) {
  const auto run = [](std::vector<AlignedBuffer> units) -> absl::StatusOr<bool> {
    ResidentSource source(std::move(units));
    ASSIGN_OR_RETURN(WeightLease lease, source.Acquire(0));
    return Holds(lease, 0);
  };
  const absl::StatusOr<bool> held = run(Units(1));
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_TRUE(*held);
}

TEST(ResidentSource, LeasesTheBytesItWasGivenWhereTheyLie) {
  std::vector<AlignedBuffer> units = Units(3);
  const std::byte* places[3];
  for (int i = 0; i < 3; ++i) places[i] = units[i].data();
  ResidentSource source(std::move(units));
  ASSERT_EQ(source.units(), 3);
  for (const int unit : {2, 0, 1, 0}) {
    const absl::StatusOr<WeightLease> lease = source.Acquire(unit);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_EQ(lease->bytes().data(), places[unit]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(places[unit]) % 4096, 0u);
    EXPECT_TRUE(Holds(*lease, unit));
    EXPECT_TRUE(lease->pinned());
  }
}

TEST(ResidentSource, LeasesAUnitToManyAtOnce) {
  ResidentSource source(Units(4));
  std::atomic<int> wrong = 0;
  const auto read = [&] {
    for (int i = 0; i < 200; ++i) {
      const absl::StatusOr<WeightLease> lease = source.Acquire(i % 4), same = source.Acquire(i % 4);
      if (!lease.ok() || !same.ok() || !Holds(*lease, i % 4) || lease->bytes().data() != same->bytes().data()) ++wrong;
    }
  };
  std::thread other(read);
  read();
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ResidentSource, UnitsItDoesNotHaveAreABugOfOurs) {
  ResidentSource source(Units(2));
  EXPECT_DEATH((void)source.Acquire(2), "unit 2 of 2");
  EXPECT_DEATH((void)source.Acquire(-1), "unit -1 of 2");
}

}  // namespace
}  // namespace tessera
