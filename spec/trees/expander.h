// A draft model that is asked node by node: it names the tokens that may come after the nodes of a tree. The caller decides where the tree
// grows.
//
//   RETURN_IF_ERROR(expander.Begin(text));                                  // its last token is the root of the first tree
//   TokenTree tree(text.back());
//   ASSIGN_OR_RETURN(auto after, expander.Expand(tree, {TokenTree::kRoot}, /*most=*/8));
//   const int node = tree.Add(TokenTree::kRoot, after[0][0].token, after[0][0].probability);
//   ASSIGN_OR_RETURN(after, expander.Expand(tree, {node}, 8));              // after that token
//   RETURN_IF_ERROR(expander.Commit(tree, verdict.emitted));                // the text is longer by these
//
// An expander may be a smaller model, a part of the target or a head: anything that gives probabilities. A call is one pass over its nodes.
// Each node sees the sequence, its ancestors and itself. The values computed for a node stay until the commit. Then the nodes that became
// text stay in the cache, and all others leave. So no token is computed twice. The sequence and the calls determine the answers: nothing
// depends on time or chance. For sampled drafts, DrawChildren (rejection.h) draws from these answers.
// Threads: as a Drafter.
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

  // Forgets the sequence before and starts `text`, which must not be empty. Tokens of `text` that are not in the cache are computed here or
  // by the first Expand. After an error only Begin may be called.
  virtual absl::Status Begin(absl::Span<const TokenId> text) = 0;

  // Returns, for each of these nodes, the tokens that may come next, the likeliest first: at most `most`, each once. Each token has its
  // probability among all tokens. Between two commits `tree` is the same tree and only grows, so a node keeps its number. After an error
  // the state is as before the call.
  // REQUIRES: 1 to most_rows() nodes, none twice, none expanded since the last commit. The parent of each is the root or was expanded. The
  // root was expanded or is among the nodes.
  virtual absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) = 0;

  // Appends these tokens to the sequence; the last is the root of the next tree. `tree` is the tree that was expanded since the last
  // commit; if none was, any tree with that root. Expanded nodes on the path are not computed again. Without tokens, the sequence and its
  // root stay as they were, and no node counts as expanded. After an error only Begin may be called.
  virtual absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) = 0;

  // Returns the expected seconds of a pass over `rows` rows, learnt from earlier passes. Returns 0 while nothing is known. A CostProfile
  // learns this number.
  virtual double Seconds(int rows) const = 0;
  virtual int most_rows() const { return 64; }   // In one pass; at least 1.

  // Like Drafter::listener.
  virtual LayerListener* listener() { return nullptr; }

  // Memory in use, for the budget.
  virtual int64_t bytes() const = 0;
};

}  // namespace tessera
