// Drives a drafter through texts that no model would write, and checks that the drafter keeps its budget and its memory in any case.
//
//   RandomSteps steps({.vocabulary = 12, .seed = 3});
//   std::vector<TokenTree> proposals = steps.Run(drafter);     // the same for drafters that are the same
//
// In every step the verified tree is the proposal with some nodes left out and others added, with any path through it, and with the model's
// logits for all nodes, for some or for none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class RandomSteps {
 public:
  struct Options {
    int vocabulary = 12;
    uint64_t seed = 0;
    int texts = 4;
    int steps = 100;
    int64_t most_bytes = int64_t{1} << 20;
  };
  explicit RandomSteps(const Options& options) : options_(options), random_(options.seed) {}

  std::vector<TokenTree> Run(Drafter& drafter) {
    std::vector<TokenTree> proposals;
    for (int text = 0; text < options_.texts; ++text) {
      const std::vector<TokenId> prompt = Tokens(1 + random_.Below(40));
      drafter.Begin(prompt);
      LearnPrompt(drafter, static_cast<int>(prompt.size()));
      TokenId root = prompt.back();
      for (int step = 0; step < options_.steps; ++step) {
        TokenTree tree = Proposal(drafter, root);
        proposals.push_back(tree);
        tree = Changed(tree);
        const Verdict verdict = AnyVerdict(tree);
        drafter.Commit(tree, verdict);
        root = verdict.emitted.back();
        EXPECT_LE(drafter.bytes(), options_.most_bytes);
      }
    }
    return proposals;
  }

 private:
  TokenId Token() { return static_cast<TokenId>(random_.Below(options_.vocabulary)); }
  std::vector<TokenId> Tokens(int64_t count) {
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) token = Token();
    return tokens;
  }
  TopTokens Top() {
    TopTokens top;
    const int64_t count = random_.Below(9);
    float probability = 1;
    for (int64_t i = 0; i < count; ++i) top.push_back({Token(), probability *= static_cast<float>(random_.Uniform())});
    return top;
  }

  void LearnPrompt(Drafter& drafter, int length) {
    const int first = static_cast<int>(random_.Below(length));
    std::vector<TopTokens> top(random_.Below(length - first + 1));
    for (TopTokens& some : top) some = Top();
    drafter.LearnPrompt(first, top);
  }

  // Returns a proposal. One time in four, the tree already has nodes from another drafter.
  TokenTree Proposal(Drafter& drafter, TokenId root) {
    TokenTree tree(root);
    if (random_.Below(4) == 0) tree = Changed(tree);
    const int before = tree.size();
    const DraftBudget budget = {.max_nodes = static_cast<int>(random_.Below(40)), .max_depth = static_cast<int>(random_.Below(12))};
    EXPECT_TRUE(drafter.Propose(budget, tree).ok());
    EXPECT_LE(tree.size() - before, budget.max_nodes);
    EXPECT_EQ(tree[TokenTree::kRoot].token, root);
    for (int node = before; node < tree.size(); ++node) EXPECT_LE(tree[node].depth, budget.max_depth);
    return tree;
  }

  TokenTree Changed(const TokenTree& tree) {
    std::vector<int> kept;
    std::vector<bool> is_kept(tree.size(), true);
    for (int node = 1; node < tree.size(); ++node) {
      is_kept[node] = is_kept[tree[node].parent] && random_.Below(8) > 0;
      if (is_kept[node]) kept.push_back(node);
    }
    TokenTree changed = tree.Pick(kept);
    for (int64_t more = random_.Below(8); more > 0; --more) changed.Add(static_cast<int>(random_.Below(changed.size())), Token(), 0.5f);
    return changed;
  }

  Verdict AnyVerdict(const TokenTree& tree) {
    Verdict verdict = {.path = {TokenTree::kRoot}};
    for (int node = 1; node < tree.size(); ++node) {
      if (tree[node].parent != verdict.path.back() || random_.Below(2) == 0) continue;
      verdict.path.push_back(node);
      verdict.emitted.push_back(tree[node].token);
    }
    verdict.emitted.push_back(Token());
    verdict.top.resize(random_.Below(4) == 0 ? 0 : tree.size());
    for (TopTokens& top : verdict.top) top = Top();
    return verdict;
  }

  const Options options_;
  SeededRandom random_;
};

// Expects equal proposals of two equal drafters.
inline void ExpectSameProposals(const std::vector<TokenTree>& a, const std::vector<TokenTree>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size()) << i;
    for (int node = 0; node < a[i].size(); ++node) {
      EXPECT_EQ(a[i][node].token, b[i][node].token);
      EXPECT_EQ(a[i][node].parent, b[i][node].parent);
      EXPECT_EQ(a[i][node].probability, b[i][node].probability);
    }
  }
}

}  // namespace tessera
