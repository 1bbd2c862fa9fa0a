// Lists all ways to cut a draft, to check a search for the best cut.
//
//   for (const std::vector<int>& nodes : AllCuts(tree)) best = std::max(best, RateOf(tree.Pick(nodes)));
//
// Pure. REQUIRES: the tree has some 20 nodes at most.
#pragma once

#include <utility>
#include <vector>

#include "tessera/spec/trees/token_tree.h"

namespace tessera {

// Returns for each cut the nodes below the root, parents first.
inline std::vector<std::vector<int>> AllCuts(const TokenTree& tree) {
  std::vector<std::vector<int>> cuts;
  for (int chosen = 0; chosen < 1 << (tree.size() - 1); ++chosen) {
    std::vector<int> nodes;
    bool whole = true;
    for (int node = 1; node < tree.size(); ++node) {
      if ((chosen >> (node - 1) & 1) == 0) continue;
      const int parent = tree[node].parent;
      whole = whole && (parent == TokenTree::kRoot || (chosen >> (parent - 1) & 1) == 1);
      nodes.push_back(node);
    }
    if (whole) cuts.push_back(std::move(nodes));
  }
  return cuts;
}

}  // namespace tessera
