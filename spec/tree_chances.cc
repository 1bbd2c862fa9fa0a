#include "tessera/spec/tree_chances.h"

#include <algorithm>

namespace tessera {

TokenTree TreeChances::Of(const TokenTree& proposal) const {
  TokenTree tree(proposal[TokenTree::kRoot].token);
  for (int node = 1; node < proposal.size(); ++node) {
    const TokenTree::Node& said = proposal[node];
    tree.Add(said.parent, said.token, std::min(said.probability, acceptance_.Probability({said.probability, said.depth})), said.source);
  }
  return tree;
}

void TreeChances::Learn(const TokenTree& proposal, absl::Span<const TokenId> emitted) {
  int parent = TokenTree::kRoot;
  for (const TokenId token : emitted) {
    int next = TokenTree::kNone;
    for (int node = parent + 1; node < proposal.size(); ++node) {
      if (proposal[node].parent != parent) continue;
      const bool came = proposal[node].token == token;
      acceptance_.Add({proposal[node].probability, proposal[node].depth}, came);
      if (came) next = node;
    }
    if (next == TokenTree::kNone) return;
    parent = next;
  }
}

}  // namespace tessera
