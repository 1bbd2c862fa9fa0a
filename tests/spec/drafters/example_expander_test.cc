// The draft that docs/adding_a_model_drafter.md links to: the document has the link, and it drafts.
#include "tessera/tests/spec/drafters/example_expander.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/speculation/replay.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/linked_example.h"

namespace tessera {
namespace {

// 1 2 3 1 2 3 ..., with some doubt after 2.
BigramExpander::Table RoundOfThree() {
  return {{1, TopTokens{TopToken{2, 0.9f}}}, {2, TopTokens{TopToken{3, 0.5f}, TopToken{1, 0.25f}}}, {3, TopTokens{TopToken{1, 0.75f}}}};
}

absl::StatusOr<std::unique_ptr<Drafter>> MakeBigram(const DraftingSize& size) {
  ASSIGN_OR_RETURN(std::unique_ptr<TreePolicy> policy, MakeTreePolicy("chain:tokens=3", {.profile = size.costs}));
  return std::make_unique<ExpandingDrafter>(std::make_unique<BigramExpander>(RoundOfThree()), std::move(policy),
                                            ExpandingDrafter::Options());
}

TEST(ExampleExpander, IsLinkedFromTheGuide) {
  EXPECT_TRUE(LinksToExample("docs/adding_a_model_drafter.md", "tests/spec/drafters/example_expander.h"));
}

TEST(ExampleExpander, AnswersEachNodeWithAtMostTheTokensAskedFor) {
  BigramExpander expander(RoundOfThree());
  ASSERT_TRUE(expander.Begin(std::vector<TokenId>{1, 2}).ok());
  TokenTree tree(2);
  const int three = tree.Add(TokenTree::kRoot, 3, 0.5f), nine = tree.Add(TokenTree::kRoot, 9, 0.25f);
  const std::vector<TopTokens> root = Must(expander.Expand(tree, {TokenTree::kRoot}, /*most=*/1));
  ASSERT_EQ(root.size(), 1u);
  ASSERT_EQ(root[0].size(), 1u);
  EXPECT_EQ(root[0][0].token, 3);
  const std::vector<TopTokens> children = Must(expander.Expand(tree, {three, nine}, /*most=*/8));
  ASSERT_EQ(children.size(), 2u);
  ASSERT_EQ(children[0].size(), 1u);
  EXPECT_EQ(children[0][0].token, 1);
  EXPECT_TRUE(children[1].empty()) << "9 is unknown";
}

TEST(ExampleExpander, AChainOfThreeGivesFourTokensPerPass) {
  const DrafterRegistry::Kind kind = {
      .name = "bigram", .make = MakeBigram, .most_bytes = [](const DraftingSize&) { return int64_t{4096}; }};
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  ASSERT_EQ(registry.Add(kind), absl::OkStatus());
  const std::vector<std::unique_ptr<Drafter>> drafters = Must(registry.Make("bigram", {.context = 64, .vocabulary = 10}));
  ASSERT_EQ(drafters.size(), 1u);
  EXPECT_EQ(drafters[0]->name(), "bigram");
  const std::vector<TokenId> prompt = {3, 1}, output = {2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2};
  const Replayed replayed = Must(Replay(*drafters[0], prompt, output, {.max_nodes = 3}));
  EXPECT_EQ(replayed.tokens, 12);
  EXPECT_EQ(replayed.passes, 3);
  EXPECT_EQ(replayed.rows, 12);
}

TEST(ExampleExpander, AWrongModelCostsPassesAndIsNoError) {
  const std::unique_ptr<Drafter> drafter = Must(MakeBigram({.context = 64, .vocabulary = 100}));
  const std::vector<TokenId> prompt = {1}, output = {50, 51, 52, 53};
  const Replayed replayed = Must(Replay(*drafter, prompt, output, {.max_nodes = 3}));
  EXPECT_EQ(replayed.tokens, 3);
  EXPECT_EQ(replayed.passes, 3) << "50, 51 and 52 are unknown: nothing is drafted";
  EXPECT_EQ(replayed.rows, 3);
}

}  // namespace
}  // namespace tessera
