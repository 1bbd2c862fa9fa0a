#include "tessera/storage/weight_source.h"

#include <optional>
#include <set>
#include <thread>
#include <type_traits>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

std::vector<std::byte> Bytes(size_t count, int first) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i * 7);
  return bytes;
}

WeightLease Leased(WeightSource& source, int unit) {
  absl::StatusOr<WeightLease> lease = source.Acquire(unit);
  EXPECT_TRUE(lease.ok()) << lease.status();
  return *std::move(lease);
}

int Read(const std::byte* place) { return static_cast<int>(*static_cast<const volatile std::byte*>(place)); }

TEST(WeightSource, HeaderExample) {
  VanishingSource source({Bytes(100, 1), Bytes(5000, 2)});
  size_t used = 0;
  const auto Use = [&](absl::Span<const std::byte> bytes) {
    used += bytes.size();
    return absl::OkStatus();
  };
  const auto run = [&](int unit) -> absl::Status {
    ASSIGN_OR_RETURN(WeightLease lease, source.Acquire(unit));
    RETURN_IF_ERROR(Use(lease.bytes()));
    return absl::OkStatus();
  };
  for (int unit = 0; unit < source.units(); ++unit) ASSERT_TRUE(run(unit).ok());
  EXPECT_EQ(used, 5100u);
  EXPECT_EQ(source.live(), 0);
}

TEST(WeightLease, EndsOnceAfterAnyNumberOfMoves) {
  VanishingSource source({Bytes(10, 3)});
  {
    WeightLease first = Leased(source, 0);
    WeightLease second = std::move(first);
    WeightLease third;
    third = std::move(second);
    EXPECT_EQ(source.live(), 1);
    EXPECT_EQ(third.unit(), 0);
    EXPECT_EQ(Read(third.bytes().data()), 3);
    EXPECT_TRUE(first.bytes().empty());
  }
  EXPECT_EQ(source.live(), 0);
  EXPECT_EQ(source.leases(), 1);
  static_assert(!std::is_copy_constructible_v<WeightLease>, "a copy would end the lease a second time");
}

TEST(WeightLease, ATemporaryAssignedEndsTheLeaseBefore) {
  VanishingSource source({Bytes(10, 3), Bytes(10, 4)});
  WeightLease lease = Leased(source, 0);
  lease = Leased(source, 1);
  EXPECT_EQ(source.live(), 1);
  EXPECT_EQ(Read(lease.bytes().data()), 4);
  lease = WeightLease();
  EXPECT_EQ(source.live(), 0);
}

TEST(WeightLease, MayEndOnAnotherThread) {
  VanishingSource source({Bytes(10, 3)});
  std::thread([lease = Leased(source, 0)] { EXPECT_EQ(Read(lease.bytes().data()), 3); }).join();
  EXPECT_EQ(source.live(), 0);
}

TEST(VanishingSource, GivesEachLeaseAnAddressOfItsOwn) {
  VanishingSource source({Bytes(4096, 1), Bytes(4097, 9), {}});
  std::set<const std::byte*> addresses;
  for (int i = 0; i < 300; ++i) {
    const int unit = i % 3;
    const WeightLease lease = Leased(source, unit);
    EXPECT_TRUE(addresses.insert(lease.bytes().data()).second) << "lease " << i;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lease.bytes().data()) % 4096, 0u);
    const std::vector<std::byte> expected = unit == 0 ? Bytes(4096, 1) : unit == 1 ? Bytes(4097, 9) : Bytes(0, 0);
    EXPECT_EQ(std::vector<std::byte>(lease.bytes().begin(), lease.bytes().end()), expected);
    EXPECT_FALSE(lease.pinned());
  }
  EXPECT_EQ(source.leases(), 300);
}

TEST(VanishingSource, ReadingAfterTheLeaseFaults) {
  VanishingSource source({Bytes(5000, 1)});
  const std::byte* kept = nullptr;
  {
    const WeightLease lease = Leased(source, 0);
    kept = lease.bytes().data();
    EXPECT_EQ(Read(kept), 1);
  }
  EXPECT_DEATH(Read(kept), "");
  const WeightLease again = Leased(source, 0);  // A later lease of the same unit does not bring the old address back.
  EXPECT_EQ(Read(again.bytes().data()), 1);
  EXPECT_DEATH(Read(kept), "");
}

TEST(VanishingSource, WritingOrReadingBeyondALeaseFaults) {
  VanishingSource source({Bytes(4096, 1)});
  const WeightLease lease = Leased(source, 0);
  std::byte* bytes = const_cast<std::byte*>(lease.bytes().data());
  EXPECT_DEATH(*static_cast<volatile std::byte*>(bytes) = std::byte{0}, "");
  EXPECT_DEATH(Read(bytes + 4096), "");
}

TEST(VanishingSource, DiesOnALeaseThatNeverEnds) {
  EXPECT_DEATH(
      {
        std::optional<VanishingSource> source(std::vector{Bytes(1, 1), Bytes(1, 2)});
        const WeightLease lease = Leased(*source, 1);
        source.reset();
      },
      "never ended; one of them: unit 1");
}

TEST(VanishingSource, KeepsABoundedNumberOfAddresses) {
  VanishingSource source({Bytes(1, 1)});
  for (size_t i = 0; i < VanishingSource::kReserved + 100; ++i) ASSERT_EQ(Read(Leased(source, 0).bytes().data()), 1) << i;
  EXPECT_EQ(source.ended(), VanishingSource::kReserved);
}

}  // namespace
}  // namespace tessera
