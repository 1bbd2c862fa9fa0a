// Checks the promises of every drafted tree and of every step over one, for any drafter. Broken promises are CHECK failures.
//
//   TokenTree tree = before;
//   CHECK(drafter.Propose(budget, tree).ok());
//   CheckProposal(tree, before, budget, model.vocabulary());
//   const Verdict verdict = VerifyAsPlain(tree, model, text, /*most=*/64);     // what plain decoding says
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/spec/drafters/drafter.h"
#include "tessera/tests/fuzz/spelled_model.h"

namespace tessera {

using Text = std::vector<TokenId>;

inline Text Joined(Text text, absl::Span<const TokenId> more) {
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

inline void CheckTree(const TokenTree& tree, int vocabulary) {
  const TokenTree::Node& root = tree[TokenTree::kRoot];
  CHECK(root.parent == TokenTree::kNone && root.depth == 0 && root.probability == 1);
  std::set<std::pair<int, TokenId>> children;
  for (int node = 1; node < tree.size(); ++node) {
    const TokenTree::Node& it = tree[node];
    CHECK(it.parent >= 0 && it.parent < node) << "node " << node << " below " << it.parent;
    CHECK_EQ(it.depth, tree[it.parent].depth + 1);
    CHECK(it.token >= 0 && it.token < vocabulary) << "token " << it.token << " of " << vocabulary;
    CHECK(it.probability > 0 && it.probability <= 1) << "probability " << it.probability;
    CHECK(children.emplace(it.parent, it.token).second) << "token " << it.token << " twice below node " << it.parent;
  }
}

// Checks a tree that a drafter made from `before`.
inline void CheckProposal(const TokenTree& tree, const TokenTree& before, const DraftBudget& budget, int vocabulary) {
  CheckTree(tree, vocabulary);
  CHECK_GE(tree.size(), before.size());
  CHECK_LE(tree.size() - before.size(), budget.max_nodes);
  for (int node = 0; node < tree.size(); ++node) {
    if (node < before.size()) {
      CHECK(tree[node].token == before[node].token && tree[node].parent == before[node].parent) << "node " << node;
    } else {
      CHECK_LE(tree[node].depth, budget.max_depth);
    }
  }
}

// Checks the order: depth first, the likeliest child first, as TokenTree::Pick orders nodes.
inline void CheckOrder(const TokenTree& tree) {
  for (int node = 1; node < tree.size(); ++node) {
    int sister = TokenTree::kNone, last = node - 1;
    for (; last != tree[node].parent; last = tree[last].parent) {
      CHECK_NE(last, TokenTree::kRoot) << "node " << node << " comes after another's children";
      sister = last;
    }
    if (sister != TokenTree::kNone) CHECK_GE(tree[sister].probability, tree[node].probability);
  }
}

// Follows the path without the tree's own search and paths.
inline void CheckByHand(const TokenTree& tree, const SpelledModel& model, Text text, size_t most, const Verdict& verdict) {
  CHECK_EQ(verdict.path.size(), verdict.emitted.size());
  int node = TokenTree::kRoot;
  for (size_t i = 0; i < verdict.emitted.size(); ++i) {
    CHECK_EQ(verdict.path[i], node);
    const Choice next = model.Next(text);
    CHECK_EQ(verdict.emitted[i], next.token);
    text.push_back(next.token);
    const bool last = next.last || text.size() >= most;
    const int parent = std::exchange(node, TokenTree::kNone);
    for (int child = 1; child < tree.size() && !last; ++child) {
      if (tree[child].parent == parent && tree[child].token == next.token) node = child;
    }
    CHECK_EQ(node == TokenTree::kNone, i + 1 == verdict.emitted.size()) << "after " << i + 1 << " tokens";
  }
}

// Returns the model's verdict on a tree after the end of `text`; at most `most` tokens are wanted.
inline Verdict VerifyAsPlain(const TokenTree& tree, const SpelledModel& model, const Text& text, size_t most) {
  std::vector<float> logits;
  std::vector<int> asked;
  size_t length = text.size();
  const auto logits_of_node = [&](int node) -> absl::StatusOr<absl::Span<const float>> {
    asked.push_back(node);
    logits = model.LogitsAfter(Joined(text, tree.PathTo(node)));
    return absl::MakeConstSpan(logits);
  };
  const auto chooser = [&](absl::Span<const float> values) -> absl::StatusOr<Choice> {
    const Choice choice = model.Choose(values);
    return Choice{choice.token, choice.last || ++length >= most};
  };
  Verdict verdict;
  const absl::Status status = Verify(tree, logits_of_node, chooser, verdict);
  CHECK(status.ok()) << status;
  CHECK(asked == verdict.path) << "logits of other nodes than the text got to";
  CheckByHand(tree, model, text, most, verdict);
  return verdict;
}

// Adds the model's logits after the tree's first nodes, and after accepted nodes: only there logits are computed.
inline void AddTop(const TokenTree& tree, const SpelledModel& model, const Text& text, int first_nodes, int top, Verdict& verdict) {
  if (top == 0) return;
  std::vector<bool> computed(tree.size());
  for (int node = 0; node < std::min(first_nodes, tree.size()); ++node) computed[node] = true;
  for (const int node : verdict.path) computed[node] = true;
  verdict.top.resize(tree.size());
  for (int node = 0; node < tree.size(); ++node) {
    if (computed[node]) verdict.top[node] = TopTokensOf(model.LogitsAfter(Joined(text, tree.PathTo(node))), top);
  }
}

// Appends a tree to a string, to compare drafts with earlier drafts.
inline void AppendTree(const TokenTree& tree, std::string& trees) {
  static_assert(sizeof(TokenTree::Node) == 20, "without padding");
  const absl::Span<const TokenTree::Node> nodes = tree.nodes();
  trees.append(reinterpret_cast<const char*>(nodes.data()), nodes.size() * sizeof(TokenTree::Node));
}

}  // namespace tessera
