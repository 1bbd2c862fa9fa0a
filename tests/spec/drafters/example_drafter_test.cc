// The drafter that docs/speculation.md shows: it is what the document quotes, and it drafts.
#include "tessera/tests/spec/drafters/example_drafter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tessera/spec/speculation/replay.h"

namespace tessera {
namespace {

std::string ReadSource(const std::string& path) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ExampleDrafter, IsQuotedByTheDocument) {
  const std::string header = ReadSource("tests/spec/drafters/example_drafter.h");
  const size_t begin = header.find("class FollowerDrafter"), end = header.find("}  // namespace tessera");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  EXPECT_NE(ReadSource("docs/speculation.md").find("```cpp\n" + header.substr(begin, end - begin - 1) + "```"),
            std::string::npos);
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
