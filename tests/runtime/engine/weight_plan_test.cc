#include "tessera/runtime/engine/weight_plan.h"

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

TEST(WeightPlan, HeaderExample) {
  const LoadedWeights model(TinyModelBuilder({}));
  const ModelConfig& config = model.config();
  const WeightLayout& layout = model.layout();
  const auto run = [&]() -> absl::Status {
    const StreamNeeds needs = WeightNeedsOf(config, layout);
    ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(needs, /*budget=*/512 << 20));
    EXPECT_EQ(BytesOfPass(needs, plan, /*head_readings=*/2), 0) << "it is small";
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST(WeightPlan, NeedsFollowTheLayout) {
  for (const bool tied : {false, true}) {
    const LoadedWeights model(TinyModelBuilder({.layers = 3, .tied = tied}));
    const StreamNeeds needs = WeightNeedsOf(model.config(), model.layout());
    ASSERT_EQ(needs.unit_bytes.size(), static_cast<size_t>(model.layout().units()));
    int64_t total = 0;
    std::vector<bool> in_block(needs.unit_bytes.size());
    for (const std::vector<int>& block : needs.together) {
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

TEST(WeightPlan, AutoPinsTheHeadBeforeAnythingElse) {
  for (const bool tied : {false, true}) {
    const LoadedWeights model(TinyModelBuilder({.layers = 8, .tied = tied}));
    const StreamNeeds needs = WeightNeedsOf(model.config(), model.layout());
    ASSERT_FALSE(needs.first.empty());
    int64_t head_bytes = 0;
    for (const int unit : needs.first) head_bytes += needs.unit_bytes[unit];
    const StreamPlan plan = Must(PlanStreaming(needs, LeastStreamBytes(needs) + head_bytes, PinPolicy::kAuto));
    ASSERT_GT(plan.streamed_bytes, 0);
    for (const int unit : needs.first) EXPECT_TRUE(plan.pins.pinned[unit]) << unit;
  }
}

TEST(WeightPlan, AllThatFitsIsPinnedUnlessNothingMayBe) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  const StreamNeeds needs = WeightNeedsOf(model.config(), model.layout());
  EXPECT_EQ(Must(PlanStreaming(needs, needs.total_bytes + LayerStreamer::kPartsBytes, PinPolicy::kSpread)).pins.bytes, needs.total_bytes);
  const StreamPlan none = Must(PlanStreaming(needs, int64_t{1} << 40, PinPolicy::kNone));
  EXPECT_EQ(none.pins.bytes, 0);
  EXPECT_GT(none.streamed_bytes, 0);
  EXPECT_LT(none.bytes, needs.total_bytes + (int64_t{16} << 20));
}

}  // namespace
}  // namespace tessera
