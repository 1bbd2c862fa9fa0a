#include "tessera/runtime/weight_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/base/checked_math.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

constexpr int64_t kPage = 4096, kMiB = int64_t{1} << 20;
constexpr PinPolicy kPolicies[] = {PinPolicy::kAuto, PinPolicy::kSpread, PinPolicy::kPrefix, PinPolicy::kNone};

TEST(WeightPlan, HeaderExample) {
  const LoadedWeights model(TinyModelBuilder({}));
  const ModelConfig& config = model.config();
  const WeightLayout& layout = model.layout();
  int64_t read_in_a_pass = -1;
  const auto run = [&]() -> absl::Status {
    const WeightNeeds needs = WeightNeedsOf(config, layout);
    ASSIGN_OR_RETURN(const WeightPlan plan, PlanWeights(needs, /*bytes=*/512 << 20, PinPolicy::kAuto));
    if (plan.streamed_bytes > 0) return absl::InternalError("it is small");
    read_in_a_pass = plan.streamed_bytes;
    return absl::OkStatus();
  };
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(read_in_a_pass, 0);
}

TEST(WeightPlan, NeedsAreThoseOfTheLayout) {
  for (const bool tied : {false, true}) {
    const LoadedWeights model(TinyModelBuilder({.layers = 3, .tied = tied}));
    const WeightNeeds needs = WeightNeedsOf(model.config(), model.layout());
    ASSERT_EQ(needs.unit_bytes.size(), static_cast<size_t>(model.layout().units()));
    int64_t total = 0;
    std::vector<bool> in_block(needs.unit_bytes.size());
    for (const std::vector<int>& block : needs.blocks) {
      EXPECT_FALSE(block.empty());
      EXPECT_TRUE(std::is_sorted(block.begin(), block.end()));
      for (const int unit : block) in_block[unit] = true;
    }
    for (int unit = 0; unit < model.layout().units(); ++unit) {
      EXPECT_EQ(needs.unit_bytes[unit], AlignUp(model.layout().UnitBytes(unit), kPage));
      EXPECT_NE(in_block[unit], needs.parts_only[unit]) << "a unit is leased whole by a block, or in parts";
      total += needs.unit_bytes[unit];
    }
    EXPECT_EQ(needs.total_bytes, total);
    EXPECT_EQ(std::count(needs.parts_only.begin(), needs.parts_only.end(), true), tied ? 0 : 1) << "an embedding table by itself";
  }
}

// Blocks of one to four units one after another, then a table of which parts are read.
WeightNeeds RandomNeeds(SeededRandom& random) {
  WeightNeeds needs;
  const auto add = [&](bool parts_only) {
    needs.unit_bytes.push_back(kPage * (1 + static_cast<int64_t>(random.Below(4096))));
    needs.parts_only.push_back(parts_only);
    needs.total_bytes += needs.unit_bytes.back();
    return static_cast<int>(needs.unit_bytes.size()) - 1;
  };
  for (int units = static_cast<int>(random.Below(3)); units > 0; --units) add(true);
  for (int blocks = 1 + static_cast<int>(random.Below(12)); blocks > 0; --blocks) {
    needs.blocks.emplace_back();
    for (int units = 1 + static_cast<int>(random.Below(4)); units > 0; --units) needs.blocks.back().push_back(add(false));
  }
  needs.head = needs.blocks.back();
  return needs;
}

void ExpectPlanWorks(const WeightNeeds& needs, const WeightPlan& plan, int64_t bytes) {
  int64_t pinned = 0, streamed = 0, block_bytes = 0, unit_bytes = 0;
  bool all_streamed_pinned = true, any_parts_pinned = false;
  for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) {
    const bool is_pinned = plan.pins.pinned[unit];
    if (is_pinned) pinned += needs.unit_bytes[unit];
    if (!is_pinned && !needs.parts_only[unit]) streamed += needs.unit_bytes[unit];
    any_parts_pinned |= is_pinned && needs.parts_only[unit];
    all_streamed_pinned &= is_pinned || needs.parts_only[unit];
  }
  for (const std::vector<int>& block : needs.blocks) {
    int64_t together = 0;
    for (const int unit : block) {
      if (plan.pins.pinned[unit]) continue;
      together += needs.unit_bytes[unit];
      unit_bytes = std::max(unit_bytes, needs.unit_bytes[unit]);
    }
    block_bytes = std::max(block_bytes, together);
  }
  EXPECT_EQ(plan.pins.bytes, pinned);
  EXPECT_EQ(plan.streamed_bytes, streamed);
  EXPECT_LE(plan.bytes, bytes);
  EXPECT_EQ(plan.bytes, pinned + plan.ring_bytes + LayerStreamer::kPartsBytes);
  if (streamed == 0) {
    EXPECT_EQ(plan.ring_bytes, 0);
  } else {
    EXPECT_GE(plan.ring_bytes, LayerStreamer::RingBytesFor(block_bytes, unit_bytes)) << "a block would wait for ever";
  }
  EXPECT_TRUE(all_streamed_pinned || !any_parts_pinned) << "what is read in every pass goes first";
}

TEST(WeightPlan, FitsAnyBudgetFromTheLeastOnAndIsRefusedBelow) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const WeightNeeds needs = RandomNeeds(random);
    const int64_t least = LeastWeightBytes(needs);
    for (const PinPolicy policy : kPolicies) {
      for (const int64_t more : {int64_t{0}, int64_t{1}, static_cast<int64_t>(random.Below(needs.total_bytes)), needs.total_bytes}) {
        const absl::StatusOr<WeightPlan> plan = PlanWeights(needs, least + more, policy);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ExpectPlanWorks(needs, *plan, least + more);
      }
      const absl::Status refused = PlanWeights(needs, least - 1, policy).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_NE(refused.message().find(absl::StrCat("found ", least - 1, " bytes, expected at least ", least)), std::string::npos)
          << refused;
      EXPECT_TRUE(PlanWeights(needs, INT64_MAX, policy).ok());
    }
  }
}

TEST(WeightPlan, ShrinksToAnyBudgetFromTheLeastOnAndPinsNothingNew) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const WeightNeeds needs = RandomNeeds(random);
    for (const PinPolicy policy : kPolicies) {
      const int64_t more = static_cast<int64_t>(random.Below(2 * needs.total_bytes));
      const WeightPlan plan = Must(PlanWeights(needs, LeastWeightBytes(needs) + more, policy));
      const int64_t least = LeastShrunkBytes(needs, plan);
      for (const int64_t bytes : {least, least + static_cast<int64_t>(random.Below(plan.bytes - least + 1)), plan.bytes - 1, INT64_MAX}) {
        if (bytes < least) continue;
        const WeightPlan shrunk = Must(ShrinkWeights(needs, plan, bytes, policy));
        ExpectPlanWorks(needs, shrunk, bytes);
        EXPECT_EQ(shrunk.ring_bytes, plan.ring_bytes);
        for (size_t unit = 0; unit < needs.unit_bytes.size(); ++unit) EXPECT_LE(shrunk.pins.pinned[unit], plan.pins.pinned[unit]);
        if (bytes >= plan.bytes) {
          EXPECT_EQ(shrunk.pins.pinned, plan.pins.pinned);
        }
      }
      EXPECT_EQ(ShrinkWeights(needs, plan, least - 1, policy).status().code(), absl::StatusCode::kResourceExhausted);
    }
  }
}

TEST(WeightPlan, AutoPinsTheHeadBeforeAnythingElse) {
  for (const bool tied : {false, true}) {
    const LoadedWeights model(TinyModelBuilder({.layers = 8, .tied = tied}));
    const WeightNeeds needs = WeightNeedsOf(model.config(), model.layout());
    ASSERT_FALSE(needs.head.empty());
    int64_t head_bytes = 0;
    for (const int unit : needs.head) head_bytes += needs.unit_bytes[unit];
    const WeightPlan plan = Must(PlanWeights(needs, LeastWeightBytes(needs) + head_bytes, PinPolicy::kAuto));
    ASSERT_GT(plan.streamed_bytes, 0);
    for (const int unit : needs.head) EXPECT_TRUE(plan.pins.pinned[unit]) << unit;
  }
}

TEST(WeightPlan, AllThatFitsIsPinnedUnlessNothingMayBe) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  const WeightNeeds needs = WeightNeedsOf(model.config(), model.layout());
  EXPECT_EQ(Must(PlanWeights(needs, needs.total_bytes + LayerStreamer::kPartsBytes, PinPolicy::kSpread)).pins.bytes, needs.total_bytes);
  const WeightPlan none = Must(PlanWeights(needs, int64_t{1} << 40, PinPolicy::kNone));
  EXPECT_EQ(none.pins.bytes, 0);
  EXPECT_GT(none.streamed_bytes, 0);
  EXPECT_LT(none.bytes, needs.total_bytes + 16 * kMiB);
}

}  // namespace
}  // namespace tessera
