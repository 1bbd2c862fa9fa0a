// Costs by a set of profiles: those of a report on the same phone, found once, and of each profile its own.
#include "tessera/apps/lab/papers/figures/coster_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/runtime/plan/phone_report.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

CosterCache::Question Static() { return {.device = "8gen3", .style = "static", .shape = "004-1b", .recipe = "qnn"}; }

double SecondsOfPass(CosterCache& costers, const CosterCache::Question& question) {
  return Must(Must(costers.Of(question))->Of({.rows = 8, .positions = 640, .logit_rows = 8})).seconds;
}

TEST(CosterCache, HeaderExample) {
  KnownModels models;
  CosterCache costers(Profiles(), models);
  const CosterCache::Question question = {.device = "8gen3", .style = "static", .shape = "004-1b", .recipe = "qnn"};
  const PassCoster* const coster = Must(costers.Of(question));
  EXPECT_GT(Must(coster->Of({.rows = 8, .positions = 640, .logit_rows = 8})).seconds, 0);
}

TEST(CosterCache, AQuestionIsAnsweredOnceAndEachOtherByItself) {
  KnownModels models;
  CosterCache costers(Profiles(), models);
  const PassCoster* const coster = Must(costers.Of(Static()));
  EXPECT_EQ(Must(costers.Of(Static())), coster);
  CosterCache::Question others[7];
  for (CosterCache::Question& other : others) other = Static();
  others[0].device = "8gen2";
  others[1].style = "unshared";
  others[2].shape = "004-3b";
  others[3].recipe = "int8-channel-a8";
  others[4].context = 1024;
  others[5].most_rows = 64;
  others[6].adapter_rank = 16;
  for (size_t i = 0; i < 7; ++i) EXPECT_NE(Must(costers.Of(others[i])), coster) << i;
  EXPECT_EQ(Must(costers.Of(Static())), coster) << "answers stay where they are";
}

TEST(CosterCache, PassesTakeTheReportsTime) {
  KnownModels models;
  CosterCache costers(Profiles(), models);
  const PhoneReport report = Must(MakePhoneReport({.device = "8gen3:static", .shape = "004-1b", .recipe = "qnn", .rows = {1, 8}}));
  for (size_t i = 0; i < report.shapes.size(); ++i) {
    EXPECT_EQ(Must(Must(costers.Of(Static()))->Of(report.shapes[i])).seconds, report.passes[i].seconds) << i;
  }
}

TEST(CosterCache, ModelsAreReadOnceForAllProfiles) {
  KnownModels models;
  CosterCache costers(Profiles(), models);
  const ProfileSet slow = Times(Profiles(), "dma_bytes_per_second", 0.5);
  CosterCache slower(slow, models);
  EXPECT_EQ(Must(costers.ConfigOf("004-1b")), Must(slower.ConfigOf("004-1b")));
  EXPECT_GT(SecondsOfPass(slower, Static()), SecondsOfPass(costers, Static()));
}

TEST(CosterCache, ALayerHasTheFormsOfItsRecipe) {
  KnownModels models;
  CosterCache costers(Profiles(), models);
  int matrices = 0;
  for (const GraphWeight& weight : Must(costers.LayerGraphOf("004-1b", "int4-channel-a16")).weights) {
    if (weight.vector) continue;
    ++matrices;
    EXPECT_TRUE(weight.tile.has_value()) << weight.spec.name;
  }
  EXPECT_EQ(matrices, 7);
}

TEST(CosterCache, AnUnknownPhoneShapeOrStyleIsAnError) {
  KnownModels models;
  CosterCache costers(Profiles(), models);
  CosterCache::Question phone = Static(), shape = Static(), style = Static();
  phone.device = "9gen9";
  shape.shape = "gpt-9";
  style.style = "dynamic";
  EXPECT_TRUE(absl::IsNotFound(costers.Of(phone).status()));
  EXPECT_TRUE(absl::IsNotFound(costers.ProfileOf("9gen9").status()));
  EXPECT_TRUE(absl::IsNotFound(costers.Of(shape).status()));
  EXPECT_FALSE(costers.Of(style).ok());
}

}  // namespace
}  // namespace tessera
