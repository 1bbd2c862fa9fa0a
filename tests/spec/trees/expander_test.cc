#include "tessera/spec/trees/expander.h"

#include <gtest/gtest.h>

#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/table_expander.h"

namespace tessera {
namespace {

TEST(Expander, HeaderExample) {
  TableExpander expander(AfterToken({{0, {{1, 0.6f}, {2, 0.3f}}}, {1, {{3, 0.5f}}}}));
  const std::vector<TokenId> text = {5, 0}, emitted = {1, 4};
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(expander.Begin(text));
    TokenTree tree(text.back());
    ASSIGN_OR_RETURN(std::vector<TopTokens> after, expander.Expand(tree, {TokenTree::kRoot}, /*most=*/8));
    const int node = tree.Add(TokenTree::kRoot, after[0][0].token, after[0][0].probability);
    ASSIGN_OR_RETURN(after, expander.Expand(tree, {node}, 8));
    EXPECT_EQ(after[0][0].token, 3);
    return expander.Commit(tree, emitted);
  };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(expander.computed(), 3);   // The text and one token after it,
  TokenTree next(4);
  ASSERT_TRUE(expander.Expand(next, {TokenTree::kRoot}, 8).ok());
  EXPECT_EQ(expander.computed(), 4);   // which is not computed again.
}

}  // namespace
}  // namespace tessera
