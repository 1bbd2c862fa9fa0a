#include "tessera/storage/internal/unit_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {
namespace {

using State = UnitRing::State;

TEST(UnitRing, HeaderExample) {
  const int64_t bytes = 100, unit_bytes = 60;
  const int unit = 3;
  int64_t reading_at = -1;
  const auto StartReading = [&](int64_t offset) { reading_at = offset; };
  UnitRing ring(bytes);
  if (std::optional<int64_t> offset = ring.Place(unit, unit_bytes)) StartReading(*offset);
  ring.Find(unit)->state = UnitRing::State::kReady;
  EXPECT_EQ(reading_at, 0);
  EXPECT_FALSE(ring.Place(4, unit_bytes).has_value());
  ring.Find(unit)->done = true;
  EXPECT_EQ(ring.Place(4, unit_bytes), 0);
}

TEST(UnitRing, AFailedUnitCanBePlacedAgainBesideItsOldSelf) {
  UnitRing ring(100);
  ring.Place(1, 40);
  ring.Place(2, 20);  // Being read: what is after it stays.
  ring.Find(1)->state = State::kFailed;
  EXPECT_EQ(ring.Find(1)->state, State::kFailed);
  ring.Drop(1);
  EXPECT_EQ(ring.Find(1), nullptr);
  EXPECT_EQ(ring.Place(1, 40), 60);
  EXPECT_EQ(ring.Find(1)->state, State::kReading);
}

TEST(UnitRing, ADoneUnitStaysUntilItsBytesAreNeeded) {
  UnitRing ring(100);
  for (const int unit : {1, 2}) {
    EXPECT_EQ(ring.Place(unit, 40), 40 * (unit - 1));
    ring.Find(unit)->state = State::kReady;
    ring.Find(unit)->done = true;
  }
  EXPECT_EQ(ring.Place(3, 20), 80);
  EXPECT_NE(ring.Find(1), nullptr);
  EXPECT_EQ(ring.Place(4, 30), 0);
  EXPECT_EQ(ring.Find(1), nullptr);
  EXPECT_NE(ring.Find(2), nullptr);
  ring.Clear();
  EXPECT_EQ(ring.Find(2), nullptr);
  EXPECT_NE(ring.Find(3), nullptr) << "it is being read";
}

TEST(UnitRing, AUnitSkippedDuringItsReadKeepsItsPlaceUntilTheReadEnds) {
  UnitRing ring(100);
  ring.Place(1, 60);
  ring.SkipBefore(nullptr);
  EXPECT_FALSE(ring.Place(2, 60).has_value()) << "bytes still come there";
  ring.Find(1)->state = State::kFailed;
  EXPECT_EQ(ring.Place(2, 60), 0);
}

// What a naive owner of the same bytes knows of a unit.
struct Naive {
  int unit;
  int64_t offset, bytes;
  State state = State::kReading;
  bool done = false;
  int leases = 0;
  bool Held() const { return !done || leases > 0 || state == State::kReading; }
};

// Both go through the same random life; whenever the ring gives a place, nobody may be there.
class RingAndNaive {
 public:
  RingAndNaive(int64_t capacity, uint64_t seed) : ring_(capacity), random_(seed) {}

  void Step() {
    switch (random_.Below(6)) {
      case 0: case 1: return Place();
      case 2: return Finish();
      case 3: return Lease();
      case 4: return Release();
      default: if (random_.Below(8) == 0) SkipAll();
    }
  }
  void CheckEntries() {
    for (const Naive& naive : all_) {
      if (!naive.Held() || (naive.state == State::kFailed && naive.done)) continue;
      const UnitRing::Entry* entry = ring_.Find(naive.unit);
      ASSERT_NE(entry, nullptr) << naive.unit;
      ASSERT_EQ(entry->offset, naive.offset);
      ASSERT_EQ(entry->state, naive.state);
    }
  }
  int64_t placed() const { return placed_; }

 private:
  Naive* Pick(bool (*wanted)(const Naive&)) {
    std::vector<Naive*> found;
    for (Naive& naive : all_) {
      if (wanted(naive)) found.push_back(&naive);
    }
    return found.empty() ? nullptr : found[random_.Below(found.size())];
  }
  void Place() {
    const int64_t bytes = 1 + static_cast<int64_t>(random_.Below(ring_.capacity()));
    const bool empty = std::none_of(all_.begin(), all_.end(), [](const Naive& naive) { return naive.Held(); });
    const std::optional<int64_t> offset = ring_.Place(next_unit_, bytes);
    ASSERT_TRUE(offset.has_value() || !empty) << "there is nothing in the ring";
    std::erase_if(all_, [](const Naive& naive) { return !naive.Held(); });
    if (!offset.has_value()) return;
    ASSERT_GE(*offset, 0);
    ASSERT_LE(*offset + bytes, ring_.capacity());
    for (const Naive& other : all_) {
      ASSERT_TRUE(*offset + bytes <= other.offset || other.offset + other.bytes <= *offset) << "unit " << other.unit << " is there";
    }
    all_.push_back({next_unit_++, *offset, bytes});
    ++placed_;
  }
  void Finish() {
    Naive* const naive = Pick([](const Naive& n) { return n.state == State::kReading; });
    if (naive == nullptr) return;
    naive->state = ring_.Find(naive->unit)->state = random_.Below(5) == 0 ? State::kFailed : State::kReady;
  }
  void Lease() {
    Naive* const naive = Pick([](const Naive& n) { return !n.done && n.state != State::kReading; });
    if (naive == nullptr) return;
    if (naive->state == State::kFailed) {
      ring_.Drop(naive->unit);
    } else {
      UnitRing::Entry* const entry = ring_.Find(naive->unit);
      entry->done = true;
      naive->leases = ++entry->leases;
    }
    naive->done = true;
  }
  void Release() {
    Naive* const naive = Pick([](const Naive& n) { return n.leases > 0; });
    if (naive != nullptr) naive->leases = --ring_.Find(naive->unit)->leases;
  }
  void SkipAll() {
    ring_.SkipBefore(nullptr);
    for (Naive& naive : all_) naive.done = true;
  }

  UnitRing ring_;
  SeededRandom random_;
  std::vector<Naive> all_;
  int next_unit_ = 0;
  int64_t placed_ = 0;
};

TEST(UnitRing, NeverGivesAwayAPlaceThatIsTaken) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    RingAndNaive both(/*capacity=*/20 + 13 * static_cast<int64_t>(seed), seed);
    for (int step = 0; step < 1500 && !testing::Test::HasFatalFailure(); ++step) {
      both.Step();
      both.CheckEntries();
    }
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    EXPECT_GT(both.placed(), 50);
  }
}

// As a pass goes: units are placed in order as far as there is room, a block leases all of its own at once, then gives them back.
TEST(UnitRing, CapacityForABlockIsEnoughAtAnyPlace) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    std::vector<std::vector<int64_t>> blocks(1 + random.Below(6));
    int64_t together = 0, largest = 0;
    for (std::vector<int64_t>& block : blocks) {
      int64_t sum = 0;
      block.resize(1 + random.Below(4));
      for (int64_t& bytes : block) {
        bytes = 1 + static_cast<int64_t>(random.Below(50));
        largest = std::max(largest, bytes);
        sum += bytes;
      }
      together = std::max(together, sum);
    }
    UnitRing ring(LayerStreamer::RingBytesFor(together, largest));
    std::vector<int64_t> order;
    for (int pass = 0; pass < 40; ++pass) {
      for (const std::vector<int64_t>& block : blocks) order.insert(order.end(), block.begin(), block.end());
    }
    size_t placed = 0, first = 0;
    for (size_t block = 0; block < blocks.size() * 40; ++block) {
      const size_t count = blocks[block % blocks.size()].size();
      for (size_t i = first; i < first + count; ++i) {  // The units before it in the block are leased, those of the last block are not.
        while (placed < order.size() && ring.Place(static_cast<int>(placed), order[placed]).has_value()) {
          ring.Find(static_cast<int>(placed++))->state = State::kReady;
        }
        ASSERT_GT(placed, i) << "block " << block << ": no room for its unit " << i - first;
        ring.Find(static_cast<int>(i))->done = true;
        ++ring.Find(static_cast<int>(i))->leases;
      }
      for (size_t i = first; i < first + count; ++i) --ring.Find(static_cast<int>(i))->leases;
      first += count;
    }
  }
}

}  // namespace
}  // namespace tessera
