// A draft that is asked node by node: it says what may come after the nodes of a tree, and whoever asks decides where the tree grows.
//
//   RETURN_IF_ERROR(expander.Begin(text));                                  // its last token is the root of the first tree
//   TokenTree tree(text.back());
//   ASSIGN_OR_RETURN(auto after, expander.Expand(tree, {TokenTree::kRoot}, /*most=*/8));
//   const int node = tree.Add(TokenTree::kRoot, after[0][0].token, after[0][0].probability);
//   ASSIGN_OR_RETURN(after, expander.Expand(tree, {node}, 8));              // after that token
//   RETURN_IF_ERROR(expander.Commit(tree, verdict.emitted));                // the text is longer by these
//
// A smaller model, a part of the target, a head: anything that gives probabilities. A call is one pass over its nodes, each of which sees
// the text, its ancestors and itself. What was computed for a node stays until the commit: then the nodes that became text stay in its
// cache, and all others leave it, so no token is computed twice. Same text, same calls, same answers: nothing depends on time or chance.
// Where drafts are to be sampled, DrawChildren (rejection.h) draws from what this says. Threads: as a Drafter.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/spec/trees/token_tree.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

class LayerListener;   // runtime/engine/layer_states.h

class Expander {
 public:
  virtual ~Expander() = default;
  virtual absl::string_view name() const = 0;   // Stable: in flags, reports and traces.

  // Forgets the text before. `text` is not empty; what of it is not in the cache is computed here or by the first Expand. After an error
  // nothing but Begin may be called.
  virtual absl::Status Begin(absl::Span<const TokenId> text) = 0;

  // For each of these nodes the tokens that may come after it, the likeliest first, at most `most`, each once, with its probability among
  // all tokens. Between two commits `tree` is the same tree, which only grows, so a node keeps its number. After an error it is as if the
  // call had not been made.
  // REQUIRES: 1 to most_rows() nodes, none twice, none expanded since the last commit; the parent of each is the root or was expanded,
  // and so was the root, unless it is among them.
  virtual absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) = 0;

  // The text goes on with these tokens; the last is the root of the next tree. `tree` is the one that was expanded since the last commit,
  // or any with its root if none was. Nodes on the way that were expanded are not computed again. No tokens: the text and its root are as
  // they were, and nothing counts as expanded. After an error nothing but Begin may be called.
  virtual absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) = 0;

  // What a pass over so many rows is expected to take, as learnt from earlier ones; 0 while nothing is known. A CostProfile learns it.
  virtual double Seconds(int rows) const = 0;
  virtual int most_rows() const { return 64; }   // In one pass; at least 1.

  // As Drafter::listener.
  virtual LayerListener* listener() { return nullptr; }

  // Memory it holds, for the budget.
  virtual int64_t bytes() const = 0;
};

}  // namespace tessera
