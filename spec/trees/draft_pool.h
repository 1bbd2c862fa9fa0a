// All answers of a draft model in one step: the candidates of every expanded node, as one tree. A TreePolicy grows the pool and chooses
// nodes from the tree.
//
//   DraftPool pool(root, expander, {.candidates = 8});
//   RETURN_IF_ERROR(pool.Expand({TokenTree::kRoot}));
//   for (const int child : pool.children(TokenTree::kRoot)) pool.reached(child);   // the likeliest first
//   RETURN_IF_ERROR(pool.Expand(waiting));                                          // several nodes in one pass
//   pool.tree().Pick(nodes);                                                        // what is to be verified
//
// A node's probability is the draft's, corrected by the reliability. The product along the path is pi of Lever (section 4.2). With
// sampling, children are drawn from the candidates instead of being the likeliest. Sampled children stand in the order of the draws.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/spec/trees/rejection.h"
#include "tessera/spec/trees/reliability.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

class DraftPool {
 public:
  struct Options {
    int candidates = 8;                          // Per node: the set C of Lever. At least 1.
    const Reliability* reliability = nullptr;    // Must outlive the pool; null: the draft is trusted.
    std::optional<DraftSampling> sampling = {};  // Empty: the children are the candidates.
    // For the root's children. Deeper children have the next positions, and random streams that depend on the path.
    DrawKey draws = {};
  };
  // The expander must outlive the pool. REQUIRES: nothing was expanded since the expander's last commit.
  DraftPool(TokenId root, Expander& expander, const Options& options);

  // Adds the candidates of these nodes, by as few passes as the expander allows. Candidates of probability 0 are left out. Internal
  // (expander, node, found, expected) if the expander's answer is not a distribution. After an error the pool is as after the passes
  // before.
  // REQUIRES: none of the nodes was expanded, none stands twice; the root is expanded first.
  absl::Status Expand(absl::Span<const int> nodes);

  const TokenTree& tree() const { return tree_; }
  bool expanded(int node) const { return at(node).expanded; }
  float reached(int node) const { return at(node).reached; }   // The probability that the sequence comes to the node.
  const std::vector<int>& children(int node) const { return at(node).children; }
  const TopTokens& candidates(int node) const { return at(node).candidates; }
  const DrawnChildren& drawn(int node) const { return at(node).drawn; }   // Empty without sampling.
  double rho(int depth) const { return options_.reliability == nullptr ? 1 : options_.reliability->rho(depth); }

  // Expected seconds: for expanding `nodes` nodes, and for all nodes that were expanded so far.
  double SecondsOf(int nodes) const;
  double seconds() const { return seconds_; }
  int64_t passes() const { return passes_; }
  int64_t rows() const { return rows_; }   // Nodes that were expanded.
  // Returns how many of the first nodes of `waiting` are best expanded in one pass, for the most probability per second. Returns 1 if a
  // pass over several nodes takes as long as several passes. REQUIRES: `waiting` is not empty, and sorted by falling probability.
  int BatchOf(absl::Span<const int> waiting) const;

  // A node that the sequence came to and that was expanded, with the token that came next.
  struct Step {
    int node = 0;
    int rank = TokenTree::kNone;   // The next token's rank among the candidates, from 0; kNone if no candidate matches.
    TokenId token = 0;
  };
  std::vector<Step> Follow(absl::Span<const TokenId> emitted) const;

  int64_t bytes() const;

 private:
  struct Entry {
    float reached = 1;
    bool expanded = false;
    std::vector<int> children = {};
    TopTokens candidates = {};
    DrawnChildren drawn = {};
  };
  const Entry& at(int node) const { return entries_[static_cast<size_t>(node)]; }
  absl::Status ExpandBatch(absl::Span<const int> nodes);
  absl::Status CheckSaid(int node, const TopTokens& said) const;
  void AddChildren(int node, TopTokens said);
  TopTokens Corrected(const TopTokens& said, int depth) const;
  DrawKey DrawsOf(int node) const;

  Expander& expander_;
  const Options options_;
  TokenTree tree_;
  std::vector<Entry> entries_;     // [node].
  double seconds_ = 0;
  int64_t passes_ = 0, rows_ = 0;
};

}  // namespace tessera
