// The drafter that docs/speculation.md links to: the document has the link, and the example drafts.
#include "tessera/tests/spec/drafters/example_drafter.h"

#include <gtest/gtest.h>

#include <vector>

#include "tessera/spec/speculation/replay.h"
#include "tessera/tests/fakes/linked_example.h"

namespace tessera {
namespace {

TEST(ExampleDrafter, IsLinkedFromTheDocument) {
  EXPECT_TRUE(LinksToExample("docs/speculation.md", "tests/spec/drafters/example_drafter.h"));
}

TEST(ExampleDrafter, DraftsTheLastFollowersOfEachToken) {
  FollowerDrafter drafter;
  drafter.Begin(std::vector<TokenId>{1, 9, 2, 3, 1, 2, 3, 1});
  TokenTree tree(1);
  ASSERT_TRUE(drafter.Propose({.max_nodes = 4, .max_depth = 4}, tree).ok());
  EXPECT_EQ(tree.PathTo(tree.size() - 1), (std::vector<TokenId>{2, 3, 1, 2}));
}

TEST(ExampleDrafter, GivesFourTokensAPassOfATextThatGoesRound) {
  const std::vector<TokenId> prompt = {5, 6, 7, 5}, output = {6, 7, 5, 6, 7, 5, 6, 7, 5};
  FollowerDrafter drafter;
  const absl::StatusOr<Replayed> replayed = Replay(drafter, prompt, output, {.max_nodes = 3, .max_depth = 3});
  ASSERT_TRUE(replayed.ok());
  EXPECT_EQ(replayed->tokens, 8);
  EXPECT_EQ(replayed->passes, 2);
  EXPECT_EQ(replayed->rows, 8);
}

}  // namespace
}  // namespace tessera
