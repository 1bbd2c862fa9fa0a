#include "tessera/spec/speculation/replay.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/tests/fakes/fake_drafters.h"

namespace tessera {
namespace {

TEST(Replay, HeaderExample) {
  PromptLookup drafter({});
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6}, output = {1, 2, 3, 4, 5, 9};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Replayed replayed, Replay(drafter, prompt, output, {.max_nodes = 15}));
    EXPECT_EQ(replayed.tokens, 5);   // 2 3 4 5 and 9, which was drafted as 6, in one pass after "1".
    EXPECT_EQ(replayed.passes, 1);
    EXPECT_EQ(replayed.tau(), 5);
    EXPECT_EQ(replayed.rows_per_pass(), 7);
    return absl::OkStatus();
  };
  EXPECT_TRUE(run().ok());
}

TEST(Replay, AnOracleFillsEveryPassAndAWrongOneGivesOneTokenEach) {
  std::vector<TokenId> output;
  for (int i = 0; i < 41; ++i) output.push_back(i);
  ScriptedDrafter oracle(output), wrong(output, 1, 100);
  const auto right = Replay(oracle, {{1}}, output, {.max_nodes = 3});
  ASSERT_TRUE(right.ok());
  EXPECT_EQ(right->tokens, 40);
  EXPECT_EQ(right->passes, 10);
  const auto none = Replay(wrong, {{1}}, output, {.max_nodes = 3});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->passes, 40);
  EXPECT_EQ(none->tau(), 1);
  EXPECT_GT(none->rows, 40);
}

// Adds what it is told to add, whatever it may.
class Unruly : public CountingDrafter {
 public:
  explicit Unruly(std::function<void(TokenTree&)> add) : add_(std::move(add)) {}
  absl::Status Propose(const DraftBudget&, TokenTree& tree) override {
    add_(tree);
    return absl::OkStatus();
  }

 private:
  const std::function<void(TokenTree&)> add_;
};

TEST(Replay, HoldsADrafterToItsContract) {
  const auto many = [](TokenTree& tree) { for (TokenId token = 0; token < 54; ++token) tree.Add(TokenTree::kRoot, token, 0.5f); };
  const auto deep = [](TokenTree& tree) { tree.Add(tree.Add(tree.Add(TokenTree::kRoot, 1, 0.5f), 1, 0.5f), 1, 0.5f); };
  const auto negative = [](TokenTree& tree) { tree.Add(TokenTree::kRoot, -7, 0.5f); };
  const auto unknown = [](TokenTree& tree) { tree.Add(TokenTree::kRoot, 10, 0.5f); };
  const auto other_root = [](TokenTree& tree) { tree = TokenTree(9); };
  const std::pair<std::function<void(TokenTree&)>, const char*> cases[] = {
      {many, "drafter fake: pass 0: found 54 nodes, expected at most 4"},
      {deep, "drafter fake: pass 0: found a node at depth 3, expected at most 2"},
      {negative, "drafter fake: pass 0: found the token -7, expected 0 to 9"},
      {unknown, "drafter fake: pass 0: found the token 10, expected 0 to 9"},
      {other_root, "drafter fake: pass 0: found the root 9, expected 1"}};
  for (const auto& [add, message] : cases) {
    Unruly drafter(add);
    EXPECT_EQ(Replay(drafter, {}, {{1, 2, 3}}, {.max_nodes = 4, .max_depth = 2}, /*vocabulary=*/10).status(),
              absl::InvalidArgumentError(message));
  }
}

TEST(Replay, SumsAndShortOutputs) {
  ScriptedDrafter silent({});
  Replayed sum;
  for (const std::vector<TokenId>& output : {std::vector<TokenId>{}, {1}, {1, 2}, {1, 2, 3}}) {
    const auto replayed = Replay(silent, {}, output, {.max_nodes = 3});
    ASSERT_TRUE(replayed.ok());
    sum += *replayed;
  }
  EXPECT_EQ(sum.tokens, 3);
  EXPECT_EQ(sum.passes, 3);
  EXPECT_EQ(sum.rows, 3);
}

}  // namespace
}  // namespace tessera
