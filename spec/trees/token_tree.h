// A tree of tokens that may come next. Drafters propose the tree, and one pass of the model checks all nodes.
//
//   TokenTree tree(last_token);                                            // node 0, the root: the last token of the text
//   const int first = tree.Add(TokenTree::kRoot, 42, /*probability=*/0.8f);
//   tree.Add(first, 7, 0.5f);                                              // 7 may come after 42
//   tree.Add(TokenTree::kRoot, 42, 0.9f) == first;                         // there already: the larger probability stays
//   const TokenTree rows = tree.Pick({first});                             // 42 alone, below the root
//
// Nodes are numbered in the order of the Add calls, so a parent's number is less than its children's. A value: copies share nothing.
// Thread-compatible.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"

namespace tessera {

// Limits of a tree's size.
struct DraftBudget {
  int max_nodes = 0;     // Below the root.
  int max_depth = 1 << 20;
};

class TokenTree {
 public:
  static constexpr int kRoot = 0;
  static constexpr int kNone = -1;

  struct Node {
    TokenId token;
    int parent;          // kNone for the root.
    int depth;           // 0 for the root.
    float probability;   // Estimated probability that this token comes next if its parent is right; in (0, 1], 1 for the root.
    int source;          // The number of the drafter that gave this estimate, as the caller counts drafters; 0 unless given.
  };

  explicit TokenTree(TokenId root) : nodes_{{root, kNone, 0, 1.0f, 0}} {}

  // Returns the child of `parent` with this token, and adds the child if missing. The largest of several estimates stays, with its source.
  // REQUIRES: 0 <= parent < size(), and 0 < probability <= 1.
  int Add(int parent, TokenId token, float probability, int source = 0);

  // Returns the child of `parent` with this token; kNone if missing.
  int Child(int parent, TokenId token) const;

  int size() const { return static_cast<int>(nodes_.size()); }  // The root included.
  const Node& operator[](int node) const { return nodes_[static_cast<size_t>(node)]; }
  absl::Span<const Node> nodes() const { return nodes_; }

  // Returns, for each node, the product of the probabilities from the root to the node.
  std::vector<float> PathProbabilities() const;
  int Leaves() const;    // Nodes without children; 1 for the root alone.
  int Depth() const;     // The deepest node's.
  // Returns the tokens from the root's child to `node`; empty for the root.
  std::vector<TokenId> PathTo(int node) const;

  // Returns the tree of the root and these nodes, in an order that keeps slots together. The order is depth first, the likeliest child
  // first, so the likeliest path comes first. Equal nodes stay in their order. REQUIRES: the nodes differ; the parent of each is the root
  // or also in `kept`.
  TokenTree Pick(absl::Span<const int> kept) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace tessera
