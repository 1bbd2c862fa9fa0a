// Drafts without a model: the distribution after a text is a function, and the cache is counted.
//
//   TableExpander expander(AfterToken({{0, {{1, 0.6f}, {2, 0.3f}}}, {1, {{3, 0.5f}}}}));   // after 0: 1 or 2; after 1: 3
//   TableExpander other(RandomDistribution(/*seed=*/1, /*branches=*/3), {.pass = 0.002, .row = 0.001});
//   expander.batches();                        // how many nodes each pass had
//   expander.computed();                       // rows, those of the text included
//
// The expander holds callers to the contract of spec/trees/expander.h: a breach is a CHECK failure.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "tessera/base/random.h"
#include "tessera/spec/trees/expander.h"

namespace tessera {

using DraftDistribution = std::function<TopTokens(absl::Span<const TokenId> text)>;

inline DraftDistribution AfterToken(std::map<TokenId, TopTokens> after) {
  return [after = std::move(after)](absl::Span<const TokenId> text) {
    const auto found = after.find(text.back());
    return found == after.end() ? TopTokens() : found->second;
  };
}

// Returns a distribution of tokens 1 to `branches`, with probabilities that depend on the whole text.
inline DraftDistribution RandomDistribution(uint64_t seed, int branches) {
  return [seed, branches](absl::Span<const TokenId> text) {
    uint64_t hash = seed;
    for (const TokenId token : text) hash = MixBits(hash ^ static_cast<uint64_t>(token));
    SeededRandom random(hash);
    TopTokens top;
    float left = 1;
    for (TokenId token = 1; token <= branches; ++token) {
      top.push_back({token, left * random.Uniform(0.05f, 0.95f)});
      left -= top.back().probability;
    }
    std::stable_sort(top.begin(), top.end(), [](const TopToken& a, const TopToken& b) { return a.probability > b.probability; });
    return top;
  };
}

// Returns every text of `depth` tokens after the root that the distribution allows.
inline TokenTree WholeTree(const DraftDistribution& distribution, TokenId root, int depth) {
  TokenTree tree(root);
  for (int node = 0; node < tree.size(); ++node) {
    if (tree[node].depth >= depth) continue;
    std::vector<TokenId> text = tree.PathTo(node);
    text.insert(text.begin(), root);
    for (const TopToken& next : distribution(text)) tree.Add(node, next.token, next.probability);
  }
  return tree;
}

class TableExpander : public Expander {
 public:
  struct Times {
    double pass = 0, row = 0;
    int most_rows = 64;
  };
  explicit TableExpander(DraftDistribution distribution) : TableExpander(std::move(distribution), Times()) {}
  TableExpander(DraftDistribution distribution, const Times& times) : distribution_(std::move(distribution)), times_(times) {}

  absl::string_view name() const override { return "table"; }

  absl::Status Begin(absl::Span<const TokenId> text) override {
    CHECK(!text.empty());
    text_.assign(text.begin(), text.end());
    cached_ = 0;
    expanded_.clear();
    return fail_begin;
  }

  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override {
    if (!fail_expand.ok()) return fail_expand;
    CHECK(!nodes.empty() && static_cast<int>(nodes.size()) <= times_.most_rows);
    CHECK_EQ(tree[TokenTree::kRoot].token, text_.back());
    std::vector<TopTokens> said;
    for (const int node : nodes) {
      CHECK(node == TokenTree::kRoot || expanded_.contains(tree[node].parent)) << "node " << node << " before its parent";
      CHECK(expanded_.insert(node).second) << "node " << node << " twice";
      computed_ += node == TokenTree::kRoot ? static_cast<int64_t>(text_.size()) - cached_ : 1;
      std::vector<TokenId> text = text_;
      for (const TokenId token : tree.PathTo(node)) text.push_back(token);
      said.push_back(distribution_(text));
      if (said.back().size() > static_cast<size_t>(most) && !talks_too_much) said.back().resize(static_cast<size_t>(most));
    }
    batches_.push_back(static_cast<int>(nodes.size()));
    if (says_too_little) said.pop_back();
    return said;
  }

  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override {
    if (expanded_.contains(TokenTree::kRoot)) cached_ = static_cast<int64_t>(text_.size()) - (emitted.empty() ? 1 : 0);
    int node = TokenTree::kRoot;
    for (const TokenId token : emitted) {
      if (node != TokenTree::kNone) node = tree.Child(node, token);
      if (node != TokenTree::kNone && !expanded_.contains(node)) node = TokenTree::kNone;
      cached_ += node != TokenTree::kNone ? 1 : 0;
      text_.push_back(token);
    }
    expanded_.clear();
    return fail_commit;
  }

  double Seconds(int rows) const override { return times_.pass + times_.row * rows; }
  int most_rows() const override { return times_.most_rows; }
  int64_t bytes() const override { return 1000; }

  const std::vector<int>& batches() const { return batches_; }
  int64_t computed() const { return computed_; }
  absl::Span<const TokenId> text() const { return text_; }

  absl::Status fail_begin, fail_expand, fail_commit;   // Results of the calls.
  bool talks_too_much = false, says_too_little = false;

 private:
  const DraftDistribution distribution_;
  const Times times_;
  std::vector<TokenId> text_;
  int64_t cached_ = 0;            // Tokens of the text that are computed already.
  std::set<int> expanded_;
  std::vector<int> batches_;
  int64_t computed_ = 0;
};

}  // namespace tessera
