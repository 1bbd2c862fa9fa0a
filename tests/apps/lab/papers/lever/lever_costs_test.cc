// What parts of a cycle cost on a phone: bytes as a file has them, places that differ, and what more rows do.
#include "tessera/apps/lab/papers/lever/lever_costs.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/storage/flash_profile.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

LeverCosts CostsOf(const LeverCosts::Question& question) {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  static KnownModels models;
  CosterCache costers(profiles, models);
  return Must(LeverCosts::Of(question, costers));
}

// A small shape: its draft model's tables are quickly found.
LeverCosts::Question Small() { return {.device = "8gen3", .flash = "ufs4.0", .shape = "qwen3-1.7b"}; }

TEST(LeverCosts, HeaderExample) {
  const LeverCosts costs = CostsOf({.device = "8gen3", .flash = "ufs4.0", .shape = "qwen3-8b"});
  EXPECT_EQ(costs.layers(), 36);
  EXPECT_GT(costs.read_seconds(), Must(costs.LayerSeconds(/*rows=*/16, /*positions=*/640))) << "such a model waits for its flash";
  EXPECT_GT(costs.HeadSeconds(HeadWay::kOnDemandCpu, /*rows=*/16, /*reached=*/3), 0);
  EXPECT_GT(costs.DraftSeconds(DraftWay::kBatched, /*nodes=*/6), 0);
}

TEST(LeverCosts, ALayerIsReadAtTheFlashsBestSpeed) {
  const LeverCosts costs = CostsOf(Small());
  const double weights = 2048.0 * (2048 * 2 + 1024 * 2 + 6144 * 3);   // Queries and result, keys and values, gate, up and down.
  EXPECT_NEAR(static_cast<double>(costs.layer_bytes()), weights * 4.5 / 8, 0.01 * weights) << "and some vectors";
  EXPECT_GE(static_cast<double>(costs.layer_bytes()), weights * 4.5 / 8);
  const double speed = Must(LoadFlashProfile("ufs4.0")).Best().bytes_per_second;
  EXPECT_DOUBLE_EQ(costs.read_seconds(), static_cast<double>(costs.layer_bytes()) / speed);
  LeverCosts::Question slower = Small();
  slower.flash = "ufs3.1";
  EXPECT_GT(CostsOf(slower).read_seconds(), costs.read_seconds());
}

TEST(LeverCosts, MoreRowsAndPositionsNeverTakeLess) {
  const LeverCosts costs = CostsOf(Small());
  for (int rows = 2; rows <= 64; rows *= 2) {
    EXPECT_GE(Must(costs.LayerSeconds(rows, 256)), Must(costs.LayerSeconds(rows / 2, 256))) << rows;
    EXPECT_GE(Must(costs.LayerSeconds(rows, 1024)), Must(costs.LayerSeconds(rows, 256))) << rows;
    for (const HeadWay way : kHeadWays) EXPECT_GE(costs.HeadSeconds(way, rows, 1), costs.HeadSeconds(way, rows / 2, 1)) << NameOf(way);
    for (const DraftWay way : kDraftWays) EXPECT_GE(costs.DraftSeconds(way, rows), costs.DraftSeconds(way, rows / 2)) << NameOf(way);
  }
  EXPECT_EQ(Must(costs.LayerSeconds(4, 200)), Must(costs.LayerSeconds(4, 256))) << "positions count by 64";
}

TEST(LeverCosts, LogitsOnDemandCostOnlyTheVisitedRows) {
  const LeverCosts costs = CostsOf(Small());
  for (const HeadWay way : {HeadWay::kOnDemandCpu, HeadWay::kOnDemandNpu}) {
    EXPECT_DOUBLE_EQ(costs.HeadSeconds(way, 64, 3), 3 * costs.HeadSeconds(way, 1, 1)) << NameOf(way);
  }
  EXPECT_EQ(costs.HeadSeconds(HeadWay::kEagerNpu, 16, 1), costs.HeadSeconds(HeadWay::kEagerNpu, 16, 9));
}

TEST(LeverCosts, ABatchTakesNoLongerThanItsNodesOneByOne) {
  for (const char* draft : {kDraftHead, "qwen3-0.6b"}) {
    LeverCosts::Question question = Small();
    question.draft = draft;
    const LeverCosts costs = CostsOf(question);
    EXPECT_EQ(costs.draft_is_head(), std::string(draft) == kDraftHead);
    for (const int nodes : {1, 2, 7, 32}) {
      for (const int text_rows : {0, 3}) {
        const double batch = costs.DraftSeconds(DraftWay::kBatched, nodes, text_rows);
        EXPECT_LE(batch, costs.DraftSeconds(DraftWay::kSingleCpu, nodes, text_rows) + 1e-12) << draft << " " << nodes;
        EXPECT_LE(batch, costs.DraftSeconds(DraftWay::kSingleNpu, nodes, text_rows) + 1e-12) << draft << " " << nodes;
      }
    }
    EXPECT_DOUBLE_EQ(costs.DraftSeconds(DraftWay::kSingleCpu, 5), 5 * costs.DraftSeconds(DraftWay::kSingleCpu, 1)) << draft;
  }
}

TEST(LeverCosts, AnUnknownNameIsAnError) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels models;
  CosterCache costers(profiles, models);
  for (const auto& change : {&LeverCosts::Question::device, &LeverCosts::Question::flash, &LeverCosts::Question::shape,
                             &LeverCosts::Question::draft}) {
    LeverCosts::Question question = Small();
    question.*change = "none";
    EXPECT_TRUE(absl::IsNotFound(LeverCosts::Of(question, costers).status()));
  }
}

}  // namespace
}  // namespace tessera
