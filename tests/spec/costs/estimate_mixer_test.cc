#include "tessera/spec/costs/estimate_mixer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/random.h"
#include "tessera/spec/trees/verify.h"

namespace tessera {
namespace {

TokenTree Star(int children) {
  TokenTree tree(0);
  for (int node = 1; node <= children; ++node) tree.Add(TokenTree::kRoot, node, 0.5f);
  return tree;
}

TEST(EstimateMixer, HeaderExample) {
  const TokenTree tree = Star(1);
  const Verdict verdict = {.path = {0}, .emitted = {1}};
  EstimateMixer mixer;
  std::vector<Estimates> said(tree.size());
  said[1].Add(/*source=*/0, 0.6f);
  said[1].Add(/*source=*/1, 0.4f);
  const std::vector<float> chances = mixer.Mix(tree, said);
  EXPECT_FLOAT_EQ(chances[0], 1);
  EXPECT_NEAR(chances[1], 0.6f, 1e-6);
  mixer.Learn(tree, said, verdict.emitted);
  EXPECT_GT(mixer.Mix(tree, said)[1], chances[1]);
}

TEST(EstimateMixer, FirstTakesTheLargestWhateverTheOrder) {
  const TokenTree tree = Star(1);
  const EstimateMixer mixer;
  for (const bool ascending : {false, true}) {
    std::vector<Estimates> said(2);
    said[1].Add(0, ascending ? 0.01f : 0.3f);
    said[1].Add(1, ascending ? 0.3f : 0.01f);
    EXPECT_NEAR(mixer.Mix(tree, said)[1], 0.3f, 1e-6);
  }
}

TEST(EstimateMixer, SistersTogetherPromiseLessThanOne) {
  SeededRandom random(3);
  EstimateMixer mixer;
  for (int step = 0; step < 200; ++step) {
    const TokenTree tree = Star(6);
    std::vector<Estimates> said(tree.size());
    float sum = 0;
    for (int node = 1; node < tree.size(); ++node) {
      for (int source = 0; source < Estimates::kMostSources; ++source) {
        if (source == 0 || random.Below(2) == 0) said[node].Add(source, 0.001f + 0.998f * static_cast<float>(random.Below(1001)) / 1000);
      }
    }
    for (const float chance : mixer.Mix(tree, said)) {
      ASSERT_GT(chance, 0);
      ASSERT_LE(chance, 1);
      sum += chance;
    }
    ASSERT_LT(sum - 1, 1);   // But for the root.
    mixer.Learn(tree, said, {{static_cast<TokenId>(random.Below(8))}});
  }
}

// Two drafters, each right in six of ten cases. Where they say the same it comes in nine of ten, else one of both in eight.
TEST(EstimateMixer, AgreementIsLearntToBeWorthMore) {
  SeededRandom random(4);
  EstimateMixer mixer;
  double agree = 0, differ = 0;
  for (int step = 0; step < 4000; ++step) {
    const bool same = random.Below(2) == 0;
    const TokenTree tree = Star(same ? 1 : 2);
    std::vector<Estimates> said(tree.size());
    said[1].Add(0, 0.6f);
    said[same ? 1 : 2].Add(1, 0.6f);
    const std::vector<float> chances = mixer.Mix(tree, said);
    const int luck = random.Below(10);
    const TokenId token = same ? (luck < 9 ? 1 : 9) : luck < 4 ? 1 : luck < 8 ? 2 : 9;
    mixer.Learn(tree, said, {{token}});
    if (step < 3000) continue;
    agree += same ? chances[1] - 0.9 : 0;
    differ += same ? 0 : (chances[1] - 0.4) + (chances[2] - 0.4);
  }
  EXPECT_NEAR(agree / 500, 0, 0.05);
  EXPECT_NEAR(differ / 1000, 0, 0.05);
}

// The text tells of the nodes whose parents came, of no others.
TEST(EstimateMixer, NodesBelowARejectedNodeTeachNothing) {
  TokenTree tree(0);
  tree.Add(0, 1, 0.5f);
  tree.Add(1, 2, 0.5f);
  std::vector<Estimates> said(3);
  said[1].Add(0, 0.5f);   // Log odds of 0: only its constant learns, and that of its set alone is read below.
  said[2].Add(1, 0.7f);
  EstimateMixer once, never;
  const TokenTree other = Star(1);
  std::vector<Estimates> first(2);
  first[1].Add(0, 0.5f);
  once.Learn(tree, said, {{9, 2}});
  never.Learn(other, first, {{9, 2}});
  EXPECT_EQ(once.Mix(tree, said), never.Mix(tree, said));
}

TEST(EstimateMixer, TheRootAloneTeachesNothing) {
  EstimateMixer mixer;
  const TokenTree tree = Star(1);
  std::vector<Estimates> said(2);
  said[1].Add(2, 0.25f);
  mixer.Learn(TokenTree(3), said, {{1, 2}});
  EXPECT_NEAR(mixer.Mix(tree, said)[1], 0.25f, 1e-6);
}

}  // namespace
}  // namespace tessera
