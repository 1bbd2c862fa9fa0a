// Three ways to have several tasks' adapters: what each costs follows from its bytes and products, and none costs what it does not have.
#include "tessera/apps/lab/papers/onemodel/onemodel_costs.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr char kPhone[] = "8gen3";

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

OnemodelSetup SetupOf(AdapterWay way, int tasks, const OnemodelAssumptions& assumptions = {}) {
  KnownModels models;
  return Must(OnemodelCosts(Profiles(), models, assumptions).SetupOf(kPhone, kOnemodel1b, way, tasks));
}

TEST(OnemodelCosts, HeaderExample) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels models;
  OnemodelCosts costs(profiles, models);
  const OnemodelSetup setup = Must(costs.SetupOf("8gen3", kOnemodel1b, AdapterWay::kInput, /*tasks=*/8));
  EXPECT_GT(setup.peak_bytes(), setup.graph_bytes + setup.adapter_bytes);
  EXPECT_GT(setup.load_seconds, 0);
  EXPECT_GT(setup.first_token_seconds, setup.chunk_seconds);
  EXPECT_GT(setup.chunk_seconds, setup.token_seconds);
}

// 16 layers of width 2048 with keys and values of 512: by rank 16 two bytes for each number of A and B.
TEST(OnemodelCosts, AnAdaptersBytesFollowFromItsNumbers) {
  KnownModels models;
  OnemodelCosts costs(Profiles(), models);
  EXPECT_EQ(Must(costs.AdapterBytes(kOnemodel1b)), int64_t{16} * 16 * 2 * (4096 + 2560 + 2560 + 4096));
  EXPECT_EQ(SetupOf(AdapterWay::kInput, 8).adapter_bytes, 8 * Must(costs.AdapterBytes(kOnemodel1b)));
  OnemodelCosts twice(Profiles(), models, {.adapter_rank = 32});
  EXPECT_EQ(Must(twice.AdapterBytes(kOnemodel1b)), 2 * Must(costs.AdapterBytes(kOnemodel1b)));
}

// The tied head counts once.
TEST(OnemodelCosts, SixteenBitsAreTwoBytesForEachNumber) {
  KnownModels models;
  OnemodelCosts costs(Profiles(), models);
  const int64_t layer = 2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048;
  EXPECT_EQ(Must(costs.HalfBytes(kOnemodel1b)), 2 * (16 * layer + 128256 * int64_t{2048} + 2048));
}

TEST(OnemodelCosts, InputsCostOneTasksTimeAndAllTasksMemory) {
  const OnemodelSetup one = SetupOf(AdapterWay::kInput, 1), eight = SetupOf(AdapterWay::kInput, 8);
  EXPECT_EQ(eight.graphs, 2);
  EXPECT_EQ(eight.graph_bytes, one.graph_bytes);
  EXPECT_EQ(eight.adapter_bytes, 8 * one.adapter_bytes);
  EXPECT_EQ(eight.token_seconds, one.token_seconds);
  EXPECT_EQ(eight.first_token_seconds, one.first_token_seconds);
  EXPECT_GT(eight.load_seconds, one.load_seconds);
}

TEST(OnemodelCosts, AMaskCostsAllTasksTimeAndMemory) {
  const OnemodelSetup one = SetupOf(AdapterWay::kMask, 1), eight = SetupOf(AdapterWay::kMask, 8), input = SetupOf(AdapterWay::kInput, 8);
  const OnemodelSetup bare = SetupOf(AdapterWay::kGraph, 1);
  EXPECT_EQ(eight.graphs, 2);
  EXPECT_EQ(eight.adapter_bytes, 0);
  EXPECT_EQ(eight.peak_bytes(), input.peak_bytes());
  EXPECT_NEAR(eight.token_seconds - bare.token_seconds, 8 * (one.token_seconds - bare.token_seconds), 1e-9);
  EXPECT_NEAR(eight.first_token_seconds - bare.first_token_seconds, 8 * (one.first_token_seconds - bare.first_token_seconds), 1e-9);
}

// All tasks' ranks in one pair of products: the overhead of one, where tasks with products of their own have one each.
TEST(OnemodelCosts, AMaskOverAdaptersSideBySideCostsLess) {
  const OnemodelSetup apart = SetupOf(AdapterWay::kMask, 8), together = SetupOf(AdapterWay::kTogether, 8);
  EXPECT_EQ(together.peak_bytes(), apart.peak_bytes());
  EXPECT_LT(together.token_seconds, apart.token_seconds);
  EXPECT_GT(together.token_seconds, SetupOf(AdapterWay::kTogether, 1).token_seconds);
  EXPECT_EQ(SetupOf(AdapterWay::kTogether, 1).token_seconds, SetupOf(AdapterWay::kMask, 1).token_seconds);
  EXPECT_GT(SetupOf(AdapterWay::kMask, 1).token_seconds, SetupOf(AdapterWay::kInput, 1).token_seconds) << "the mask itself";
}

TEST(OnemodelCosts, AGraphPerTaskCostsNoTimeAndItsOwnMatrices) {
  const OnemodelSetup one = SetupOf(AdapterWay::kGraph, 1), eight = SetupOf(AdapterWay::kGraph, 8), input = SetupOf(AdapterWay::kInput, 8);
  EXPECT_EQ(eight.graphs, 16);
  EXPECT_EQ(eight.token_seconds, one.token_seconds);
  EXPECT_LT(eight.token_seconds, input.token_seconds);
  EXPECT_GT(eight.peak_bytes(), input.peak_bytes());
  // Four bits for each weight of queries, keys, values and outputs, and scales of columns.
  const double merged = static_cast<double>(eight.graph_bytes - one.graph_bytes) / 7;
  const double weights = 16.0 * (2 * 2048 * 2048 + 2 * 2048 * 512);
  EXPECT_GE(merged, weights / 2);
  EXPECT_LT(merged, weights / 2 * 1.15);
}

// What adapters of all seven products take is more than what those of four do: the paper has four.
TEST(OnemodelCosts, AdaptersAreAtTheFourProductsOfAttention) {
  KnownModels models;
  OnemodelCosts costs(Profiles(), models);
  CosterCache costers(Profiles(), models);
  const PassCoster* const seven = Must(costers.Of({.device = kPhone, .style = "static", .shape = "004-1b", .recipe = kOnemodelRecipe,
                                                   .context = kOnemodel1b.context, .adapter_rank = 16}));
  const double all = Must(seven->Of({.rows = 1, .positions = kOnemodel1b.context, .logit_rows = 1})).seconds;
  const double bare = Must(costs.PassSeconds(kPhone, kOnemodel1b, 1)), four = Must(costs.AdaptedPassSeconds(kPhone, kOnemodel1b, 1));
  EXPECT_GT(four, bare);
  EXPECT_NEAR((four - bare) / (all - bare), 4.0 / 7, 0.02) << "overheads of operators decide";
}

TEST(OnemodelCosts, ASplitBReadsAndMultipliesTheSame) {
  KnownModels models;
  OnemodelCosts costs(Profiles(), models);
  EXPECT_EQ(Must(costs.AdaptedPassSeconds(kPhone, kOnemodel1b, 1, true)), Must(costs.AdaptedPassSeconds(kPhone, kOnemodel1b, 1, false)));
}

TEST(OnemodelCosts, APhoneThatIsNotThereIsRefused) {
  KnownModels models;
  OnemodelCosts costs(Profiles(), models);
  EXPECT_TRUE(absl::IsNotFound(costs.SetupOf("9gen1", kOnemodel1b, AdapterWay::kInput, 8).status()));
  EXPECT_TRUE(absl::IsNotFound(costs.SetupOf(kPhone, {"no-shape", 1024, 128}, AdapterWay::kInput, 8).status()));
}

}  // namespace
}  // namespace tessera
