// All that a draft has said in one step: the candidates of every node that was expanded, as one tree. A TreePolicy asks for more of it and
// chooses from it.
//
//   DraftPool pool(root, expander, {.candidates = 8});
//   RETURN_IF_ERROR(pool.Expand({TokenTree::kRoot}));
//   for (const int child : pool.children(TokenTree::kRoot)) pool.reached(child);   // the likeliest first
//   RETURN_IF_ERROR(pool.Expand(waiting));                                          // several nodes in one pass
//   pool.tree().Pick(nodes);                                                        // what is to be verified
//
// A node's probability is the draft's, corrected by the reliability (pi of Lever, section 4.2, is their product along the path). With
// sampling, children are drawn from the candidates in place of the likeliest, and stand in the order in which they were drawn.
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
    // For the root's children; those below have the next positions, and streams that depend on the path.
    DrawKey draws = {};
  };
  // The expander must outlive the pool; nothing was expanded since its last commit.
  DraftPool(TokenId root, Expander& expander, const Options& options);

  // The candidates of these nodes, by as few passes as the expander allows. Candidates of probability 0 are left out. Internal (expander,
  // node, found, expected) if it says what is no distribution. After an error the pool is as after the passes before.
  // REQUIRES: none of them was expanded, none is there twice; the root is expanded first.
  absl::Status Expand(absl::Span<const int> nodes);

  const TokenTree& tree() const { return tree_; }
  bool expanded(int node) const { return at(node).expanded; }
  float reached(int node) const { return at(node).reached; }   // The probability that the text comes to the node.
  const std::vector<int>& children(int node) const { return at(node).children; }
  const TopTokens& candidates(int node) const { return at(node).candidates; }
  const DrawnChildren& drawn(int node) const { return at(node).drawn; }   // Empty without sampling.
  double rho(int depth) const { return options_.reliability == nullptr ? 1 : options_.reliability->rho(depth); }

  // What expanding so many nodes is expected to take, and what was expected of all that was expanded.
  double SecondsOf(int nodes) const;
  double seconds() const { return seconds_; }
  int64_t passes() const { return passes_; }
  int64_t rows() const { return rows_; }   // Nodes that were expanded.
  // How many of these nodes, from the first on, are best expanded in one pass: that gives the most probability for its time. One if a pass
  // over several takes as long as several passes. `waiting` by falling probability, not empty.
  int BatchOf(absl::Span<const int> waiting) const;

  // Nodes that the text came to, and what it said there, as far as they were expanded.
  struct Step {
    int node = 0;
    int rank = TokenTree::kNone;   // The next token's among the candidates, from 0; kNone if it is none of them.
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
