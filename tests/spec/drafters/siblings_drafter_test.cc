#include "tessera/spec/drafters/siblings_drafter.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {
namespace {

std::shared_ptr<SharedHistory> NewSet(int64_t tokens = 1000) {
  return std::make_shared<SharedHistory>(std::make_shared<SharedHistory::Room>(tokens));
}

TokenTree DraftOf(SiblingsDrafter& drafter, TokenId root, const DraftBudget& budget = {.max_nodes = 9}) {
  TokenTree tree(root);
  EXPECT_TRUE(drafter.Propose(budget, tree).ok());
  return tree;
}

// Writes these tokens, of which the first is a text's first.
void Write(SiblingsDrafter& drafter, const std::vector<TokenId>& tokens) {
  drafter.Begin({{90, 91, tokens[0]}});   // After a prompt.
  drafter.Commit(TokenTree(tokens[0]), {.path = {0}, .emitted = {tokens.begin() + 1, tokens.end()}});
}

std::vector<TokenId> Path(const TokenTree& tree) {
  std::vector<TokenId> path;
  for (int node = 1; node < tree.size(); ++node) {
    EXPECT_EQ(tree[node].parent, node - 1) << "no branch";
    path.push_back(tree[node].token);
  }
  return path;
}

TEST(SiblingsDrafter, HeaderExample) {
  const std::shared_ptr<SharedHistory> history = NewSet();
  const int other = history->BeginText();
  for (const TokenId token : {5, 6}) history->Add(other, token);
  const std::vector<TokenId> text = {1, 2, 5};
  TokenTree tree(text.back());
  SiblingsDrafter drafter;
  drafter.Join(history);
  drafter.Begin(text);
  ASSERT_TRUE(drafter.Propose({.max_nodes = 15}, tree).ok());
  EXPECT_EQ(Path(tree), (std::vector<TokenId>{6}));
}

TEST(SiblingsDrafter, TextOfOneSiblingIsDraftedForTheOthersDuringWriting) {
  const std::shared_ptr<SharedHistory> history = NewSet();
  SiblingsDrafter ahead, behind;
  for (SiblingsDrafter* const drafter : {&ahead, &behind}) drafter->Join(history);
  Write(ahead, {5, 6, 7});
  behind.Begin({{90, 91, 5}});
  EXPECT_EQ(Path(DraftOf(behind, 5)), (std::vector<TokenId>{6, 7}));
  ahead.Commit(TokenTree(7), {.path = {0}, .emitted = {8}});
  EXPECT_EQ(Path(DraftOf(behind, 5)), (std::vector<TokenId>{6, 7, 8}));
  EXPECT_EQ(DraftOf(ahead, 8).size(), 1) << "nobody was there";
}

// Where most went on with one token, that is the likeliest.
TEST(SiblingsDrafter, ATokenWrittenByMoreSiblingsIsLikelier) {
  const std::shared_ptr<SharedHistory> history = NewSet();
  std::vector<SiblingsDrafter> others(5);
  for (size_t i = 0; i < others.size(); ++i) {
    others[i].Join(history);
    Write(others[i], {5, i == 1 ? 8 : 6, 20 + static_cast<TokenId>(i)});
  }
  SiblingsDrafter drafter;
  drafter.Join(history);
  drafter.Begin({{5}});
  const TokenTree tree = DraftOf(drafter, 5);
  EXPECT_GT(tree[tree.Child(TokenTree::kRoot, 6)].probability, 2 * tree[tree.Child(TokenTree::kRoot, 8)].probability);
}

TEST(SiblingsDrafter, AnEndedTextStaysASourceForLaterTexts) {
  const std::shared_ptr<SharedHistory> history = NewSet();
  SiblingsDrafter drafter;
  drafter.Join(history);
  Write(drafter, {5, 6, 7});
  drafter.Begin({{90, 5}});   // Its next text.
  EXPECT_EQ(Path(DraftOf(drafter, 5)), (std::vector<TokenId>{6, 7}));
}

TEST(SiblingsDrafter, WithoutASetOrWithAnotherNothingIsDrafted) {
  SiblingsDrafter drafter, other;
  other.Join(NewSet());
  Write(other, {5, 6, 7});
  drafter.Begin({{5}});
  EXPECT_EQ(DraftOf(drafter, 5).size(), 1);
  drafter.Commit(TokenTree(5), {.path = {0}, .emitted = {6}});
  const std::shared_ptr<SharedHistory> own = NewSet();
  drafter.Join(own);
  drafter.Begin({{5}});
  EXPECT_EQ(DraftOf(drafter, 5).size(), 1);
  EXPECT_EQ(own->tokens(), 3) << "the text is in it: its place, its beginning, its token";
  drafter.Join(nullptr);
  EXPECT_EQ(own.use_count(), 1) << "nothing of a set is held after it";
}

TEST(SiblingsDrafter, KeepsToItsBudget) {
  const std::shared_ptr<SharedHistory> history = NewSet();
  SiblingsDrafter ahead, behind;
  for (SiblingsDrafter* const drafter : {&ahead, &behind}) drafter->Join(history);
  Write(ahead, {5, 6, 7, 8, 9});
  behind.Begin({{5}});
  EXPECT_EQ(DraftOf(behind, 5, {.max_nodes = 2}).size(), 3);
  EXPECT_EQ(DraftOf(behind, 5, {.max_nodes = 9, .max_depth = 1}).size(), 2);
  EXPECT_EQ(DraftOf(behind, 5, {.max_nodes = 0}).size(), 1);
}

TEST(SiblingsDrafter, WithoutRoomATextIsWrittenWithoutSiblings) {
  const std::shared_ptr<SharedHistory> history = NewSet(/*tokens=*/3);
  SiblingsDrafter ahead, behind;
  for (SiblingsDrafter* const drafter : {&ahead, &behind}) drafter->Join(history);
  Write(ahead, {5, 6, 7});
  behind.Begin({{5}});
  behind.Commit(TokenTree(5), {.path = {0}, .emitted = {6}});
  EXPECT_EQ(DraftOf(behind, 6).size(), 1);
  EXPECT_LE(history->tokens(), 3);
}

TEST(SiblingsDrafter, ASpeculatorJoinsItsDrafters) {
  const std::shared_ptr<SharedHistory> history = NewSet();
  SiblingsDrafter ahead;
  ahead.Join(history);
  Write(ahead, {5, 6, 7});
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  ASSERT_TRUE(registry.Add(DrafterRegistry::Siblings()).ok());
  auto drafters = registry.Make("lookup,siblings", {.context = 64, .vocabulary = 100});
  ASSERT_TRUE(drafters.ok()) << drafters.status();
  Speculator speculator(*std::move(drafters), {.weigh_costs = false});
  speculator.Join(history);
  speculator.Begin({{90, 5}});
  const TokenTree tree = speculator.Propose({.rows = 8, .depth = 7});
  EXPECT_NE(tree.Child(TokenTree::kRoot, 6), TokenTree::kNone);
}

TEST(SiblingsDrafter, ItsNameIsThatOfTextsThatAreWrittenTogether) {
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  EXPECT_EQ(registry.Parse("lookup,siblings").status().message(),
            "drafter: found \"siblings\" where texts are written alone, expected several answers to one prompt, or other drafters");
  const size_t alone = registry.Parse("auto")->size();
  ASSERT_TRUE(registry.Add(DrafterRegistry::Siblings()).ok());
  EXPECT_EQ(registry.Parse("auto")->size(), alone + 1) << "auto has it";
  EXPECT_EQ(registry.Make(kSiblings, {.context = 64, .vocabulary = 100})->front()->name(), kSiblings);
}

}  // namespace
}  // namespace tessera
