#include "tessera/runtime/session/tree_logits.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TokenTree Comb() {
  TokenTree tree(5);
  int node = TokenTree::kRoot;
  for (int i = 0; i < 6; ++i) {
    const int next = tree.Add(node, 10 + i, 0.9f);
    tree.Add(node, 30 + i, 0.1f);
    node = next;
  }
  std::vector<int> all(tree.size() - 1);
  std::iota(all.begin(), all.end(), 1);
  return tree.Pick(all);
}

TEST(TreeLogits, HeaderExample) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(5, 1)));
  TokenTree tree(7);
  tree.Add(TokenTree::kRoot, 8, 1);
  TreeLogits logits(*session, engine->config().vocabulary);
  Must(session->PassTree(tree));
  logits.Begin(tree.size(), {.first_rows = 2});
  EXPECT_EQ(Must(logits.Of(0)).size(), static_cast<size_t>(engine->config().vocabulary));
  session->Keep({{0}}, logits.last());
  EXPECT_EQ(logits.time().first_rows, 2);
  EXPECT_EQ(logits.time().later_rows, 0);
}

// Whatever is computed together: the bits are those of all at once, and no row is computed that nobody asked for.
TEST(TreeLogits, EveryPlanGivesTheSameBits) {
  const auto engine = TinyEngine({.seed = 4}, {.compute = {.threads = 2}});
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(9, 2)));
  const TokenTree tree = Comb();
  const int vocabulary = engine->config().vocabulary;
  std::vector<float> all(static_cast<size_t>(tree.size()) * vocabulary);
  std::vector<int> nodes(tree.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  Must(session->PassTree(tree));
  Must(session->TreeLogits(nodes, TensorView<float>(all.data(), tree.size(), vocabulary)));
  TreeLogits logits(*session, vocabulary);
  for (const int first_rows : {1, 3, 100, 2}) {
    for (const int top : {0, 3}) {
      logits.Begin(tree.size(), {.first_rows = first_rows, .top = top});
      EXPECT_TRUE(logits.last().empty());
      const std::vector<int> asked = {0, 1, 5, 12, 2};
      int later = 0;
      for (const int node : asked) {
        const absl::Span<const float> values = Must(logits.Of(node));
        later += node >= first_rows ? 1 : 0;
        for (int i = 0; i < vocabulary; ++i) ASSERT_EQ(values[i], all[static_cast<size_t>(node) * vocabulary + i]) << node;
        EXPECT_EQ(logits.last().data(), values.data());
      }
      EXPECT_EQ(logits.time().first_rows, std::min(first_rows, tree.size()));
      EXPECT_EQ(logits.time().later_rows, later);
      const std::vector<TopTokens> of_nodes = logits.TakeTop();
      ASSERT_EQ(of_nodes.size(), static_cast<size_t>(tree.size()));
      for (int node = 0; node < tree.size(); ++node) {
        const bool computed = node < first_rows || std::find(asked.begin(), asked.end(), node) != asked.end();
        EXPECT_EQ(of_nodes[node].size(), computed ? static_cast<size_t>(top) : 0u) << node;
      }
      EXPECT_EQ(logits.time().top_rows, top == 0 ? 0 : logits.time().first_rows + later);
    }
  }
  session->Keep({}, {});
}

TEST(TreeLogits, HoldsNoMoreRowsThanAPromptDoes) {
  static_assert(LogitsPlan::kMostFirst + 1 <= Session::kLogitRows);
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  TokenTree tree(1);
  for (int i = 0; i < 60; ++i) tree.Add(TokenTree::kRoot, 2 + i, 0.01f);
  Must(session->PassTree(tree));
  TreeLogits logits(*session, engine->config().vocabulary);
  logits.Begin(tree.size(), {.first_rows = 61});
  Must(logits.Of(60));
  EXPECT_EQ(logits.time().first_rows, LogitsPlan::kMostFirst);
  EXPECT_EQ(logits.time().later_rows, 1);
  session->Keep({}, {});
}

}  // namespace
}  // namespace tessera
