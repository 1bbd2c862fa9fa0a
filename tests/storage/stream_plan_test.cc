#include "tessera/storage/stream_plan.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

constexpr int64_t kPage = 4096, kMiB = int64_t{1} << 20;
constexpr PinPolicy kPolicies[] = {PinPolicy::kAuto, PinPolicy::kSpread, PinPolicy::kPrefix, PinPolicy::kNone};

class StreamPlanOfFile : public testing::Test {
 protected:
  StreamPlanOfFile() {
    EXPECT_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
  }

  const TsrSample sample_ = MakeTsrSample({5000, 3 * kMiB, 700'000, 2 * kMiB + 1, 4096, 3 * kMiB});
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
  std::unique_ptr<TsrReader> file_;
};

TEST_F(StreamPlanOfFile, HeaderExample) {
  int64_t read_in_a_pass = -1;
  const auto run = [&](const TsrReader* file) -> absl::Status {
    ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(*file, /*budget=*/512 << 20));
    ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> source,
                     LayerStreamer::Open(*file, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
    if (plan.pass_bytes > 0) return absl::InternalError("it is small");
    read_in_a_pass = source->stats().streamed_bytes;
    return absl::OkStatus();
  };
  ASSERT_EQ(run(file_.get()), absl::OkStatus());
  EXPECT_EQ(read_in_a_pass, 0);
}

TEST_F(StreamPlanOfFile, EveryBudgetFromTheLeastOnStreamsTheFileAndTakesNoMore) {
  const StreamNeeds needs = StreamNeedsOf(*file_);
  const int64_t least = LeastStreamBytes(needs);
  EXPECT_EQ(least, 6 * kMiB + LayerStreamer::kPartsBytes) << "a ring of the largest unit twice";
  for (const int64_t more : {int64_t{0}, kMiB, 3 * kMiB, needs.total_bytes}) {
    for (const PinPolicy policy : kPolicies) {
      const StreamPlan plan = Must(PlanStreaming(*file_, least + more, policy));
      EXPECT_LE(plan.bytes, least + more);
      const auto source = Must(LayerStreamer::Open(*file_, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
      const LayerStreamer::Stats stats = source->stats();
      EXPECT_EQ(stats.pinned_bytes + stats.ring_bytes + LayerStreamer::kPartsBytes, plan.bytes);
      EXPECT_EQ(stats.streamed_bytes, plan.streamed_bytes);
      for (int unit = 0; unit < source->units(); ++unit) {
        const absl::StatusOr<WeightLease> lease = source->Acquire(unit);
        ASSERT_TRUE(lease.ok()) << lease.status();
        EXPECT_TRUE(std::equal(lease->bytes().begin(), lease->bytes().end(), sample_.units[unit].begin())) << unit;
      }
    }
  }
  const absl::Status refused = PlanStreaming(*file_, least - 1).status();
  EXPECT_EQ(refused, absl::ResourceExhaustedError(absl::StrCat(path_, ": memory for weights: found ", least - 1,
                                                               " bytes, expected at least ", least)));
}

// However late the thread reads.
TEST_F(StreamPlanOfFile, AModelThatFitsTheRingIsReadOnce) {
  constexpr int kPasses = 4;
  const int64_t all = StreamNeedsOf(*file_).total_bytes;
  for (const int depth : {1, 8}) {
    for (const int64_t ring : {all, all - kPage}) {
      const auto source = Must(LayerStreamer::Open(
          *file_, {.pins = {.pinned = std::vector<bool>(file_->units())}, .ring_bytes = ring, .depth = depth}));
      for (int i = 0; i < kPasses * file_->units(); ++i) {
        const WeightLease lease = Must(source->Acquire(i % file_->units()));
        const std::vector<std::byte>& expected = sample_.units[lease.unit()];
        ASSERT_TRUE(std::equal(lease.bytes().begin(), lease.bytes().end(), expected.begin()));
      }
      const LayerStreamer::Stats stats = source->stats();
      EXPECT_EQ(stats.pass_bytes, ring == all ? 0 : all);
      EXPECT_EQ(stats.out_of_order, 0);
      if (ring == all) {
        EXPECT_EQ(stats.bytes_read, all);
      } else {
        EXPECT_GE(stats.bytes_read, kPasses * all);
      }
    }
  }
}

TEST_F(StreamPlanOfFile, UnitsThatAreLeasedTogetherFitIntoTheRing) {
  const StreamNeeds needs = StreamNeedsOf(*file_, /*together=*/3);
  ASSERT_EQ(needs.together.size(), 6u);
  EXPECT_EQ(needs.together[0], std::vector<int>{0});
  EXPECT_EQ(needs.together[1], (std::vector<int>{0, 1}));
  EXPECT_EQ(needs.together[5], (std::vector<int>{3, 4, 5}));
  const StreamPlan plan = Must(PlanStreaming(needs, LeastStreamBytes(needs), PinPolicy::kNone));
  const auto source = Must(LayerStreamer::Open(*file_, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
  for (int pass = 0; pass < 2; ++pass) {
    WeightLease before, last;
    for (int unit = 0; unit < source->units(); ++unit) {
      WeightLease next = Must(source->Acquire(unit));
      before = std::exchange(last, std::move(next));
    }
  }
}

// A table of which parts are read, then groups of one to four units.
StreamNeeds RandomNeeds(SeededRandom& random) {
  StreamNeeds needs;
  const auto add = [&](bool parts_only) {
    needs.unit_bytes.push_back(kPage * (1 + static_cast<int64_t>(random.Below(4096))));
    needs.parts_only.push_back(parts_only);
    needs.total_bytes += needs.unit_bytes.back();
    return static_cast<int>(needs.unit_bytes.size()) - 1;
  };
  for (int units = static_cast<int>(random.Below(3)); units > 0; --units) add(true);
  for (int groups = 1 + static_cast<int>(random.Below(12)); groups > 0; --groups) {
    needs.together.emplace_back();
    for (int units = 1 + static_cast<int>(random.Below(4)); units > 0; --units) needs.together.back().push_back(add(false));
  }
  needs.first = needs.together.back();
  return needs;
}

void ExpectPlanWorks(const StreamNeeds& needs, const StreamPlan& plan, int64_t bytes) {
  int64_t pinned = 0, streamed = 0, group_bytes = 0, unit_bytes = 0;
  bool all_streamed_pinned = true, any_parts_pinned = false;
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) {
    const bool is_pinned = plan.pins.pinned[unit];
    if (is_pinned) pinned += needs.unit_bytes[unit];
    if (!is_pinned && !needs.parts_only[unit]) streamed += needs.unit_bytes[unit];
    any_parts_pinned |= is_pinned && needs.parts_only[unit];
    all_streamed_pinned &= is_pinned || needs.parts_only[unit];
  }
  for (const std::vector<int>& group : needs.together) {
    int64_t together = 0;
    for (const int unit : group) {
      if (plan.pins.pinned[unit]) continue;
      together += needs.unit_bytes[unit];
      unit_bytes = std::max(unit_bytes, needs.unit_bytes[unit]);
    }
    group_bytes = std::max(group_bytes, together);
  }
  EXPECT_EQ(plan.pins.bytes, pinned);
  EXPECT_EQ(plan.streamed_bytes, streamed);
  EXPECT_EQ(plan.pass_bytes, streamed <= plan.ring_bytes ? 0 : streamed);
  EXPECT_LE(plan.bytes, bytes);
  EXPECT_EQ(plan.bytes, pinned + plan.ring_bytes + LayerStreamer::kPartsBytes);
  if (streamed == 0) {
    EXPECT_EQ(plan.ring_bytes, 0);
  } else {
    EXPECT_GE(plan.ring_bytes, LayerStreamer::RingBytesFor(group_bytes, unit_bytes)) << "a group would wait for ever";
  }
  EXPECT_TRUE(all_streamed_pinned || !any_parts_pinned) << "what is read in every pass goes first";
}

TEST(StreamPlan, FitsAnyBudgetFromTheLeastOnAndIsRefusedBelow) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const StreamNeeds needs = RandomNeeds(random);
    const int64_t least = LeastStreamBytes(needs);
    for (const PinPolicy policy : kPolicies) {
      for (const int64_t more : {int64_t{0}, int64_t{1}, static_cast<int64_t>(random.Below(needs.total_bytes)), needs.total_bytes}) {
        const absl::StatusOr<StreamPlan> plan = PlanStreaming(needs, least + more, policy);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ExpectPlanWorks(needs, *plan, least + more);
      }
      const absl::Status refused = PlanStreaming(needs, least - 1, policy).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_NE(refused.message().find(absl::StrCat("found ", least - 1, " bytes, expected at least ", least)), std::string::npos)
          << refused;
      EXPECT_TRUE(PlanStreaming(needs, INT64_MAX, policy).ok());
    }
  }
}

// A ring beside them would only take memory from what is leased in parts.
TEST(StreamPlan, PinsAllWholeLeasedUnitsIfTheBudgetSuffices) {
  const StreamNeeds needs = {.unit_bytes = {kMiB, kMiB, kMiB, 40 * kMiB}, .parts_only = {false, false, false, true},
                             .together = {{0}, {1}, {2}}, .total_bytes = 43 * kMiB};
  const StreamPlan plan = Must(PlanStreaming(needs, 3 * kMiB + LayerStreamer::kPartsBytes, PinPolicy::kAuto));
  EXPECT_EQ(plan.pins.pinned, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(plan.ring_bytes, 0);
  EXPECT_EQ(plan.pass_bytes, 0);
}

TEST(StreamPlan, ShrinksToAnyBudgetFromTheLeastOnAndPinsNothingNew) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const StreamNeeds needs = RandomNeeds(random);
    for (const PinPolicy policy : kPolicies) {
      const int64_t more = static_cast<int64_t>(random.Below(2 * needs.total_bytes));
      const StreamPlan plan = Must(PlanStreaming(needs, LeastStreamBytes(needs) + more, policy));
      const int64_t least = LeastShrunkBytes(needs, plan);
      for (const int64_t bytes : {least, least + static_cast<int64_t>(random.Below(plan.bytes - least + 1)), plan.bytes - 1, INT64_MAX}) {
        if (bytes < least) continue;
        const StreamPlan shrunk = Must(ShrinkStreaming(needs, plan, bytes, policy));
        ExpectPlanWorks(needs, shrunk, bytes);
        EXPECT_EQ(shrunk.ring_bytes, plan.ring_bytes);
        for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) EXPECT_LE(shrunk.pins.pinned[unit], plan.pins.pinned[unit]);
        if (bytes >= plan.bytes) {
          EXPECT_EQ(shrunk.pins.pinned, plan.pins.pinned);
        }
      }
      EXPECT_EQ(ShrinkStreaming(needs, plan, least - 1, policy).status().code(), absl::StatusCode::kResourceExhausted);
    }
  }
}

}  // namespace
}  // namespace tessera
